// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package resource describes the resources that an API server serves, built-in and custom: their
// kinds, names and the rules for writing them.
//
// The built-in resources are derived from client-go's clientset by reflection. A method Nodes()
// whose result has a method List is the cluster-scoped resource "nodes", a method Pods(namespace)
// is a namespaced resource, and a method UpdateStatus means a status subresource. The list is
// therefore complete for any version of client-go. Custom resources are read from
// CustomResourceDefinitions.
package resource
