//go:build unix

package harness

import (
	"syscall"
	"time"
)

// CPU returns the processor time that this process has used so far, in user and
// system mode, by all its threads. Where one goroutine works, the difference of
// two is the time it took, whatever else the machine was doing.
func CPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic("getrusage: " + err.Error()) // it fails on wrong arguments alone
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
