// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package gomod

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
)

// Go runs the go command and returns its standard output, also of a command that fails. If ctx has
// ended, the error is its cause.
func Go(ctx context.Context, args ...string) ([]byte, error) {
	return Output(ctx, command.Program(ctx, "go", args...))
}

// GoShowing is Go for commands that may download modules. It copies the lines about downloads to
// progress while the command runs.
func GoShowing(ctx context.Context, progress io.Writer, args ...string) ([]byte, error) {
	program := command.Program(ctx, "go", args...)
	program.Stderr = &downloads{out: progress}
	return Output(ctx, program)
}

// downloading begins a line about a download.
const downloading = "go: downloading "

// downloads copies the lines about downloads.
type downloads struct {
	out  io.Writer
	line []byte // that has no end yet
}

// Write implements io.Writer.
func (d *downloads) Write(p []byte) (int, error) {
	d.line = append(d.line, p...)
	for {
		line, rest, ok := bytes.Cut(d.line, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		if bytes.HasPrefix(line, []byte(downloading)) {
			fmt.Fprintf(d.out, "%s\n", line)
		}
		d.line = rest
	}
}

// Output does the same for a prepared go command. What the command writes to its standard error is
// part of the error, and is also written to program.Stderr if that is set.
func Output(ctx context.Context, program *exec.Cmd) ([]byte, error) {
	var failure bytes.Buffer
	if program.Stderr == nil {
		program.Stderr = &failure
	} else {
		program.Stderr = io.MultiWriter(&failure, program.Stderr)
	}
	out, err := program.Output()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		lines := slices.DeleteFunc(strings.Split(failure.String(), "\n"), func(line string) bool {
			return strings.HasPrefix(line, downloading)
		})
		return out, fmt.Errorf("go %s: %w: %s", program.Args[1], err, strings.TrimSpace(strings.Join(lines, "\n")))
	}
	return out, nil
}
