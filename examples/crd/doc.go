// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command crd shows informers of custom resources: one of a Go type of the program, and one of
// unstructured objects, which needs no Go type.
//
// Without -kubeconfig it starts an API server of its own on a loopback port, which serves Widgets of
// the group example.com, and changes one every second:
//
//	go run ./crd
//
// widget.go is the Go type, informers.go makes the informers.
package main
