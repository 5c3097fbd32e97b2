// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package gomod

import (
	"bytes"
	"context"
	"fmt"
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

// Output does the same for a prepared go command.
func Output(ctx context.Context, program *exec.Cmd) ([]byte, error) {
	var failure bytes.Buffer
	program.Stderr = &failure
	out, err := program.Output()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		lines := slices.DeleteFunc(strings.Split(failure.String(), "\n"), func(line string) bool {
			return strings.HasPrefix(line, "go: downloading ")
		})
		return out, fmt.Errorf("go %s: %w: %s", program.Args[1], err, strings.TrimSpace(strings.Join(lines, "\n")))
	}
	return out, nil
}
