//go:build race

package faults_test

const leakCycles = 1000 // the race detector makes each ten times slower
