// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command crd is a controller of custom resources of a Go type of the program: it writes the color
// of each Widget's spec into its status. Beside it runs an informer of the same Widgets as
// unstructured objects, which needs no Go type.
//
// Without -kubeconfig it starts an API server of its own on a loopback port, which serves Widgets
// of the group example.com, and changes one every second:
//
//	go run ./crd
//
// A cluster needs the CustomResourceDefinition in widgets.yaml. The program may be started before
// that: its informers log 404 until the resource is there, and then list it. It writes nothing but
// the status of Widgets.
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
// widget.go is the Go type, informers.go makes the client and the informers, and controller.go
// reads Widgets from a work queue and writes their status.
package main
