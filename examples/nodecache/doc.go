// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command nodecache keeps an up-to-date copy of a cluster's nodes in memory and shows it. It is an
// example of the basic use of an informer.
//
// Without flags it needs no cluster: it starts fake.APIServer, simulates nodes that join, change
// and leave, and watches them over HTTP through client-go. With --cluster it watches a real
// cluster.
//
// informer.go is the part that uses package cache. source.go, simulation.go and simulated_node.go
// provide the nodes; table.go, node_text.go and events.go say how a node and its changes look, and
// internal/terminal draws them; debug_page.go serves package debug's page with --debug-addr; run.go
// connects them.
package main
