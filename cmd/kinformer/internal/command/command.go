// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package command holds what the commands have in common.
package command

import "io"

// Streams are the standard streams of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// UsageError reports an invalid command line.
type UsageError struct {
	Message string
	Help    string // if not empty, it is shown in place of the message
}

// Error implements error.
func (e *UsageError) Error() string { return e.Message }
