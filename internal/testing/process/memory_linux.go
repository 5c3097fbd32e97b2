// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Memory returns the process's resident memory, and the most that it has been, in bytes. The
// latter is not getrusage's maximum, which a child process inherits from its parent.
func Memory() (resident, peak float64, err error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0, err
	}
	if resident, err = kilobytes(string(status), "VmRSS"); err != nil {
		return 0, 0, err
	}
	peak, err = kilobytes(string(status), "VmHWM")
	return resident, peak, err
}

// residentMemory returns the resident memory of another process in bytes, or zero if it has ended.
func residentMemory(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	resident, _ := kilobytes(string(status), "VmRSS")
	return int64(resident)
}

// kilobytes returns a field of /proc/self/status in bytes.
func kilobytes(status, field string) (float64, error) {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			number, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return number * 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no %s", field)
}
