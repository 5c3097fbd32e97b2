// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"os"
	"os/exec"
	"time"
)

// StopTimeout is the maximum time that a program of Program runs after the end of its context.
const StopTimeout = 5 * time.Second

// Program returns a program to run. The end of the context interrupts it, so that it can stop its
// own processes and remove its files. It is killed if that takes longer than StopTimeout, or if the
// operating system has no interrupts.
func Program(ctx context.Context, name string, args ...string) *exec.Cmd {
	program := exec.CommandContext(ctx, name, args...)
	program.Cancel = func() error { return program.Process.Signal(os.Interrupt) }
	program.WaitDelay = StopTimeout
	return program
}
