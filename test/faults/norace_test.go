// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package faults_test

const (
	leakCycles = 10_000 // how often a test of leaks repeats what may leak
	heapNodes  = 50_000 // the objects of a test of the heap
)
