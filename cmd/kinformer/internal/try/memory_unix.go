// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package try

import (
	"os"
	"runtime"
	"syscall"
)

// peakRSS returns the largest resident memory of a process that has ended, or 0 if it is unknown. A
// process begins with the peak of the one that started it, which is this one.
func peakRSS(state *os.ProcessState) int64 {
	var own syscall.Rusage
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok || syscall.Getrusage(syscall.RUSAGE_SELF, &own) != nil || usage.Maxrss <= own.Maxrss {
		return 0
	}
	peak := int64(usage.Maxrss) //nolint:unconvert // it has 32 bits on some machines
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return peak
	}
	return peak << 10 // kilobytes elsewhere
}
