// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package adopters tests programs of other projects on kinformer's informers. It is a separate
// module, so that neither the library nor the other end-to-end tests depend on them.
//
// The tests of this folder make the informers of metrics-server by the import alone, pass the
// generated factories of cert-manager and istio through package clientgo, run kinformer adopt on
// packages of cert-manager and on three programs with their tests, one of which replaces the
// modules of Kubernetes, and run the tests of two programs of Kubernetes by kinformer try.
// Package prometheus builds and tests prometheus' Kubernetes discovery with one of its imports
// changed.
package adopters
