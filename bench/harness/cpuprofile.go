// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os"
	"runtime/pprof"
)

// StartCPUProfile starts a CPU profile and returns the function that stops it. If the path is
// empty, it does nothing.
func StartCPUProfile(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}
