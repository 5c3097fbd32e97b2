// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package adapter is a program on client-go's informers, in folder before, and the same program on
// kinformer's, in folder after. They differ in one import, and in the line that lets informers read
// lists as they arrive:
//
//	diff adapter/before/main.go adapter/after/main.go
//
// A test checks that there is no other difference. Both programs need a cluster:
//
//	go run ./adapter/after -kubeconfig ~/.kube/config
//
// docs/adopting.md has the other ways to adopt kinformer.
package adapter
