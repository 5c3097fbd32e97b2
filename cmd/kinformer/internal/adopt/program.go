// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/gomod"
)

// program is the Go module in the current directory.
type program struct {
	root     string             // the folder of go.mod
	packages []*pkg             // those of the module that the patterns match
	listed   map[string]*listed // these and all that they import, by import path
}

// listed is a package as go list prints it.
type listed struct {
	Dir, ImportPath, Name, ForTest string

	Module *struct {
		Path string
		Main bool
	}
	DepOnly                                                      bool
	GoFiles, CgoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
}

// inMain reports whether a package belongs to the program's module.
func (l *listed) inMain() bool { return l.Module != nil && l.Module.Main }

// load lists the packages that the patterns match, and all that they import. flags are those of go
// list.
func load(ctx context.Context, patterns []string, flags ...string) (*program, error) {
	environment, err := gomod.Go(ctx, "env", "-json", "GOMOD", "GOWORK")
	if err != nil {
		return nil, err
	}
	var env struct{ GOMOD, GOWORK string }
	if err := json.Unmarshal(environment, &env); err != nil {
		return nil, fmt.Errorf("read go env: %w", err)
	}
	switch {
	case filepath.Base(env.GOMOD) != "go.mod":
		return nil, errors.New("find go.mod: the current directory is not in a module")
	case env.GOWORK != "" && env.GOWORK != "off":
		return nil, fmt.Errorf("%s is in use: run GOWORK=off kinformer adopt in the folder of each module", env.GOWORK)
	}
	p := &program{root: filepath.Dir(env.GOMOD), listed: map[string]*listed{}}
	out, err := gomod.Go(ctx, slices.Concat([]string{
		"list", "-deps", "-test", "-json=Dir,ImportPath,Name,ForTest,Module,DepOnly,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles",
	}, flags, patterns)...)
	if err != nil {
		return nil, err
	}
	return p, p.read(out)
}

// resolve returns the name of the file that a name leads to, both relative to the folder of go.mod,
// through symbolic links. The last element need not exist. It is an error if a link leads to no
// file, or to one that is not in the module: outside its folder, below vendor or in another module.
func (p *program) resolve(name string) (resolved string, err error) {
	root, err := filepath.EvalSymlinks(p.root)
	if err != nil {
		return "", err
	}
	for end := range len(name) + 1 {
		if end < len(name) && name[end] != '/' {
			continue
		}
		from := filepath.Join(p.root, filepath.FromSlash(name[:end]))
		to, err := filepath.EvalSymlinks(from)
		switch _, missing := os.Lstat(from); {
		case end == len(name) && errors.Is(missing, fs.ErrNotExist):
			return path.Join(resolved, path.Base(name)), nil
		case missing == nil && errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("write %s: %s is a symbolic link to a file that does not exist", name, name[:end])
		case err != nil:
			return "", fmt.Errorf("write %s: %w", name, err)
		}
		if resolved, err = filepath.Rel(root, to); err != nil || !isInModule(root, resolved) {
			return "", fmt.Errorf("write %s: %s is a symbolic link to %s, which is not in the module", name, name[:end], to)
		}
		resolved = filepath.ToSlash(resolved)
	}
	return resolved, nil
}

// isInModule reports whether a path, relative to the folder root of go.mod, is one of the module.
func isInModule(root, name string) bool {
	if !filepath.IsLocal(name) || strings.HasPrefix(name, "vendor"+string(filepath.Separator)) {
		return false
	}
	for folder := filepath.Dir(name); folder != "."; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(root, folder, "go.mod")); err == nil {
			return false
		}
	}
	return true
}

// read reads the output of go list.
func (p *program) read(out []byte) error {
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		l := &listed{}
		if err := decoder.Decode(l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("read go list: %w", err)
		}
		if l.ForTest != "" || strings.HasSuffix(l.ImportPath, ".test") { // made for tests, of files that are listed besides
			continue
		}
		if l.inMain() && l.Module.Path == gomod.Kinformer {
			return fmt.Errorf("%s is kinformer itself", filepath.Join(p.root, "go.mod"))
		}
		p.listed[l.ImportPath] = l
		if l.inMain() && !l.DepOnly {
			files := slices.Concat(l.GoFiles, l.CgoFiles, l.TestGoFiles, l.IgnoredGoFiles)
			p.packages = append(p.packages, &pkg{listed: l, files: files}, &pkg{listed: l, files: l.XTestGoFiles})
		}
	}
	if len(p.packages) == 0 {
		return errors.New("list packages: the patterns match no package of this module")
	}
	return nil
}
