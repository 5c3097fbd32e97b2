// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package gomod

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
)

// Module is a module in a go.mod.
type Module struct{ Path, Version string }

// File is a go.mod.
type File struct {
	Require []Module
	Replace []struct{ Old, New Module }
}

// Read reads a go.mod.
func Read(ctx context.Context, path string) (f File, err error) {
	out, err := Go(ctx, "mod", "edit", "-json", path)
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(out, &f); err != nil {
		return f, fmt.Errorf("read go mod edit: %w", err)
	}
	return f, nil
}

// Version returns the required version of a module, or "".
func (f File) Version(path string) string {
	for _, required := range f.Require {
		if required.Path == path {
			return required.Version
		}
	}
	return ""
}

// IsOlder reports whether a version is older than another, false if one of them is no version, as
// that of a folder.
func IsOlder(a, b string) bool {
	x, err := version.ParseSemantic(a)
	y, err2 := version.ParseSemantic(b)
	return err == nil && err2 == nil && x.LessThan(y)
}
