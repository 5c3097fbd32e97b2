// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package prometheus builds prometheus' Kubernetes discovery on package clientgo, and its role pod
// on package cache. The discovery makes its informers with client-go's constructors, in a package
// of its own, so adopting it means to change that package.
//
// The go command has the package's files from the module cache. A build changes copies of them, by
// the edits of a Variant, some of which are the unified diff pods.diff, and compiles the copies as
// package kubernetes of this folder, by the go command's -overlay. Nothing is written into the
// working tree.
//
// Command discover runs the discovery. Command measure compares the builds.
package prometheus
