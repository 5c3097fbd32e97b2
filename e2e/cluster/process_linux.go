// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "syscall"

// diesWithParent makes the kernel kill a server when this process ends in any way: a panic, a
// test's timeout, SIGKILL.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
