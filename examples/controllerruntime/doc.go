// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command controllerruntime is a controller of controller-runtime whose cache is kinformer's: it
// keeps a ConfigMap with the number of Pods in each Namespace, as examples/controller does.
//
// Two lines differ from any other manager: EnableStreaming on the config, and NewInformer in the
// options of the cache. The manager's metrics server has the informers' metrics and their debug
// page. The controller's test simulates crashes, late events and lost ones, and checks the
// permissions of role.yaml.
//
// It is a module of its own, since controller-runtime needs a newer client-go than the other
// examples. It starts an API server of its own on a loopback port:
//
//	go run .
//
// For a real cluster, -simulate=false uses the kubeconfig that kubectl would, or that of
// -kubeconfig. It leaves the ConfigMap pod-count in each Namespace.
package main
