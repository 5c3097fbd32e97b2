// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package process

import "time"

// CPU returns the time since the program started, as Go has no portable way to read processor time.
func CPU() time.Duration { return time.Since(started) }

var started = time.Now() //nolint:gochecknoglobals // the program's start does not change
