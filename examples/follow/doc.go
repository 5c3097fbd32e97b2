// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command follow prints the objects of resources that come and go, such as those of
// CustomResourceDefinitions which are installed, removed and installed again while it runs. Its
// informers start when the server serves a resource, and end when it no longer does. It writes
// nothing.
//
// Without -kubeconfig it starts an API server of its own, in which the CustomResourceDefinition of
// Widgets comes and goes every few seconds:
//
//	go run ./follow
//
// With a cluster, -resources are those to follow, whether they are there or not, each as
// resource.version.group:
//
//	go run ./follow -kubeconfig ~/.kube/config -resources certificates.v1.cert-manager.io,gateways.v1.gateway.networking.k8s.io
//
// A deletion is printed as "gone" if the object was deleted, and as "no longer served" if it may
// still exist: the version is not served any more, or the APIService was deleted.
package main
