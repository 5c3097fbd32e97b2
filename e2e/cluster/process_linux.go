package cluster

import "syscall"

// diesWithParent has the kernel kill a server when this process ends in whatever way: a panic, a test's time limit, kill -9.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
