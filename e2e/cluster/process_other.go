// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cluster

import "syscall"

// diesWithParent does nothing where the kernel cannot do it: there a server is left running if the
// test process is killed.
func diesWithParent() *syscall.SysProcAttr { return nil }
