// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Child is a child process that runs this program again.
type Child struct {
	Args []string
	// Env is the whole environment of the child process; nil is this one's. Go needs no variable.
	Env []string
	// Input is written to the standard input in JSON; see ReadInput.
	Input any
	// Stderr receives the standard error. If it is nil, Run's error has the first line.
	Stderr io.Writer
	// MaxMemory is the resident memory in bytes above which the child process is killed, where the
	// operating system says how much it is: on Linux. Zero means no bound.
	MaxMemory int64
}

// Run runs the child process and decodes its standard output, which is JSON, into result. The child
// process is killed when ctx ends.
func (c Child) Run(ctx context.Context, result any) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	command := exec.CommandContext(ctx, self, c.Args...)
	command.Env = c.Env
	command.WaitDelay = time.Second
	var out, complaint bytes.Buffer
	command.Stdout, command.Stderr = &out, c.Stderr
	if c.Stderr == nil {
		command.Stderr = &complaint
	}
	if err := c.run(command, cancel); err != nil {
		return fmt.Errorf("child process: %w%s", cause(ctx, err), firstLine(complaint.String()))
	}
	if err := json.Unmarshal(out.Bytes(), result); err != nil {
		return fmt.Errorf("child process: result: %w", err)
	}
	return nil
}

// run starts the command, writes its input and waits for its end. The pipe of the input stays open
// until then, or until this process ends.
func (c Child) run(command *exec.Cmd, kill context.CancelCauseFunc) error {
	stdin, err := command.StdinPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	if c.MaxMemory > 0 {
		defer c.watchMemory(command.Process.Pid, kill)()
	}
	if c.Input != nil {
		_ = json.NewEncoder(stdin).Encode(c.Input) // it fails if the child process has ended
	}
	return command.Wait()
}

// cause returns why a child process ended: the context's error if it was killed for that.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// maxComplaint is how many bytes of a child process's standard error an error has.
const maxComplaint = 300

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if line == "" {
		return ""
	}
	return ": " + line[:min(len(line), maxComplaint)]
}

// ReadInput decodes Child.Input from in, the standard input of a child process, and ends the
// process when the parent process has ended: the pipe is closed then.
func ReadInput(in io.Reader, input any) error {
	decoder := json.NewDecoder(in)
	if err := decoder.Decode(input); err != nil {
		return fmt.Errorf("input of the child process: %w", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, in) // until the pipe is closed
		os.Exit(1)
	}()
	return nil
}
