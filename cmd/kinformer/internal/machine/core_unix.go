// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package machine

import "syscall"

// DisableCoreDumps prevents that the memory of this process, and of its child processes, is written
// to disk after a crash.
func DisableCoreDumps() error { return syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) }
