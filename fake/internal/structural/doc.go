// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package structural prunes and defaults objects of custom resources by the schema of their
// CustomResourceDefinition, as kube-apiserver does. It does not validate values.
//
// The rules are those of the API documentation:
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
//
//   - A field that the schema does not specify is removed, unless an object around it has
//     x-kubernetes-preserve-unknown-fields. kind, apiVersion and metadata of the object and of
//     objects with x-kubernetes-embedded-resource are kept.
//   - A null that is not nullable is removed, or replaced by the default if there is one.
//   - A missing field gets its default. The fields inside a default, and inside values that are
//     present, get theirs.
package structural
