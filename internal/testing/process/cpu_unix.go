// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package process

import (
	"syscall"
	"time"
)

// CPU returns the processor time that all threads of this process have used so far, in user and
// system mode.
func CPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic("getrusage: " + err.Error()) // it fails only for invalid arguments
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
