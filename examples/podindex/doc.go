// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command podindex answers over HTTP which Pods run on a node, and which have some labels, as a
// network agent or an audit asks. Of each Pod it keeps the metadata and three fields, packed. It
// writes nothing to the cluster, and listens on 127.0.0.1.
//
// Without -kubeconfig it starts an API server of its own, with nine Pods on three nodes:
//
//	go run ./podindex
//	curl 127.0.0.1:8080/nodes/node-1
//	curl -G 127.0.0.1:8080/pods -d selector='app=web'
//
// Both answer a list in JSON, sorted by namespace and name, or 503 until all Pods have been listed.
// A selector that is not valid is 400.
//
// podindex.go has the fields, the informer and its index by node, and the handlers; server.go is
// the API server.
package main
