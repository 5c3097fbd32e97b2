// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os"
	"runtime/pprof"
)

// WriteHeapProfile writes a profile of the memory in use at the last garbage collection. If the
// path is empty, it does nothing.
func WriteHeapProfile(path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := pprof.Lookup("heap").WriteTo(file, 0); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}
