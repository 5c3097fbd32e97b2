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
// A cluster needs the CustomResourceDefinition in widgets.yaml. The program may be started before
// that: its informers log 404 until the resource is there, and then list it.
//
//	kubectl apply -f crd/widgets.yaml
//	go run ./crd -kubeconfig ~/.kube/config
//	kubectl create -f - <<EOF
//	apiVersion: example.com/v1
//	kind: Widget
//	metadata: {name: gear}
//	spec: {color: red, size: 1}
//	EOF
//
// widget.go is the Go type, informers.go makes the informers.
package main
