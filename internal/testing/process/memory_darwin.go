// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package process

import "syscall"

// Memory returns the most resident memory that the process has had, in bytes, twice: the system
// call does not return the current one.
func Memory() (resident, peak float64, err error) {
	var usage syscall.Rusage
	err = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Maxrss), float64(usage.Maxrss), err
}
