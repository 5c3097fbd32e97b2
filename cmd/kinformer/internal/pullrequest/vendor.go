// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/gomod"
)

// Vendored are the files below vendor that go mod vendor changes.
type Vendored struct {
	Added       int   `json:"added"`
	Changed     int   `json:"changed"`
	Removed     int   `json:"removed"`
	BeforeBytes int64 `json:"beforeBytes"` // of all files
	AfterBytes  int64 `json:"afterBytes"`
}

// CountVendored compares the folder vendor of the program in root with what go mod vendor writes
// into a new folder below scratch. flags select the changed go.mod and the edited sources. It
// returns nil if the program is not vendored.
func CountVendored(ctx context.Context, progress io.Writer, root, scratch string, flags ...string) (*Vendored, error) {
	before, after := filepath.Join(root, "vendor"), filepath.Join(scratch, "vendor")
	if _, err := os.Stat(filepath.Join(before, "modules.txt")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // as documented
	}
	fmt.Fprintln(progress, "go mod vendor into a temporary folder")
	if _, err := gomod.GoShowing(ctx, progress, slices.Concat([]string{"mod", "vendor", "-o", after}, flags)...); err != nil {
		return nil, err
	}
	return compare(before, after)
}

// compare compares the files of two folders.
func compare(before, after string) (*Vendored, error) {
	v := &Vendored{}
	old, err := sizes(before)
	if err != nil {
		return nil, err
	}
	for _, size := range old {
		v.BeforeBytes += size
	}
	now, err := sizes(after)
	if err != nil {
		return nil, err
	}
	for name, size := range now {
		v.AfterBytes += size
		if was, ok := old[name]; !ok {
			v.Added++
			continue
		} else if was == size {
			a, err := os.ReadFile(filepath.Join(before, name))
			b, err2 := os.ReadFile(filepath.Join(after, name))
			if err := errors.Join(err, err2); err != nil {
				return nil, err
			}
			if bytes.Equal(a, b) {
				continue
			}
		}
		v.Changed++
	}
	v.Removed = len(old) + v.Added - len(now)
	return v, nil
}

// sizes returns the sizes of the files in a folder, by path.
func sizes(folder string) (map[string]int64, error) {
	all := map[string]int64{}
	return all, fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			all[path] = info.Size()
		}
		return err
	})
}
