// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import (
	"errors"
	"os"
)

// suspend returns an error: this operating system has no signal for it.
func suspend(*os.Process) error { return errors.ErrUnsupported }

func resume(*os.Process) error { return errors.ErrUnsupported }
