// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command nodecache keeps an up-to-date copy of a cluster's nodes in memory and shows it. It is an
// example of the basic use of an informer.
//
// Without -kubeconfig it needs no cluster: it starts fake.APIServer, whose nodes join, change and
// leave, and watches them over HTTP through client-go. The server restarts now and then, and the
// cache recovers.
//
// nodecache.go is the part that uses package cache. simulation.go provides the cluster, node.go
// says how a node looks, and examples/internal/terminal draws the table or writes the lines.
package main
