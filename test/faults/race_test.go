// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package faults_test

// Under the race detector, which slows them tenfold, tests of leaks and of the heap are shorter.
const (
	leakCycles = 1000
	heapNodes  = 5000
)
