// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package try

import (
	"os"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/kinformer/kinformer/internal/testing/process"
)

// lowerPeak lowers the peak memory of this process to its present memory, where the operating
// system can: on Linux. A process begins with the peak of the one that starts it.
func lowerPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // "5" resets VmHWM; see proc(5)
}

// peakRSS returns the largest resident memory of a process that has ended, or 0 if it is unknown:
// if it may be that of this process.
func peakRSS(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	_, own, err := process.Memory()
	if !ok || err != nil {
		return 0
	}
	peak := int64(usage.Maxrss) //nolint:unconvert // it has 32 bits on some machines
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" {
		peak <<= 10 // from kilobytes
	}
	if peak <= int64(own) {
		return 0
	}
	return peak
}
