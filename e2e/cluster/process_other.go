//go:build !linux

package cluster

import "syscall"

// diesWithParent does nothing where the kernel has no such service: there a server is left behind if the test process is
// killed, and only then.
func diesWithParent() *syscall.SysProcAttr { return nil }
