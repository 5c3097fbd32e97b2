// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package rest serves a registry over HTTP with the API server's protocol: paths, verbs, content
// negotiation, discovery, watches, errors and injected faults.
//
// A request passes through auth.go, path.go and handler.go, which route it, fault.go, which injects
// faults, and verbs.go or watch.go, which carry it out. representation.go converts the answer to
// the requested representation, and gzip.go compresses it.
//
// A watch runs in the goroutine of its request. The loop in watch.go reads new events from the
// history, writes them, and waits for the next change or the end of the request or the server.
package rest
