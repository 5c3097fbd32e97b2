// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package child

import "syscall"

// contextSwitches returns how often the threads of this process have been switched so far: because
// they waited, and because their time was up.
func contextSwitches() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic("getrusage: " + err.Error()) // it fails only for invalid arguments
	}
	return float64(usage.Nvcsw + usage.Nivcsw)
}
