// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package compiled lists compiled packages, against which tests type-check source files.
package compiled

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime/debug"
	"strings"
)

// Package is a package as go list describes it.
type Package struct {
	Dir, ImportPath string
	Export          string // the file with its exported names
	GoFiles         []string
}

// List compiles the packages that patterns match in the module at a directory, and their
// dependencies, or finds them in the cache.
func List(ctx context.Context, dir string, patterns ...string) (packages []Package, err error) {
	arguments := []string{"list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles", "-race=" + raceSetting()}
	list := exec.CommandContext(ctx, "go", append(arguments, patterns...)...) //nolint:gosec // of the tests
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p Package
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, fmt.Errorf("decode the output of go list: %w", err)
		}
		packages = append(packages, p)
	}
}

// raceSetting returns whether this program was compiled with the race detector. With the same
// setting, go list finds compiled packages in the cache.
func raceSetting() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "-race" {
				return setting.Value
			}
		}
	}
	return "false"
}
