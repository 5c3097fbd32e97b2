// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import "golang.org/x/sys/unix"

// Memory returns the memory of the machine in bytes.
func Memory() int64 {
	total, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return fallback
	}
	return int64(total) //nolint:gosec // fits
}
