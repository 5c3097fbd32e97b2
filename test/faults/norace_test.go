//go:build !race

package faults_test

// leakCycles is how often a test of leaks repeats what may leak.
const leakCycles = 10_000
