// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package structural prunes, defaults and validates objects of custom resources by the schema of
// their CustomResourceDefinition, as kube-apiserver does.
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
//   - The values match the schema. The validator is the one of kube-apiserver, in package validate
//     of k8s.io/kube-openapi. A [Schema] has the rules in the form of that package.
//   - An update may keep an invalid value. A ratchet is a validator that has the value's current
//     state beside it, and accepts an invalid value that is the same; see pair for which values
//     those are.
//   - Lists of the types set and map have no duplicates, unless the current object has some. kind,
//     apiVersion and metadata of an embedded resource are valid.
//
// It does not evaluate x-kubernetes-validations.
package structural
