// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/gomod"
	"github.com/kinformer/kinformer/internal/units"
)

// program is the Go module in the current directory.
type program struct {
	root     string // the folder of go.mod
	flags    []string
	progress io.Writer
	packages []*pkg // those of the module that the patterns match
	// These, the imports that may make informers, and what lookup found, by import path.
	listed map[string]*listed
}

// listed is a package as go list prints it.
type listed struct {
	Dir, ImportPath, Name string

	Module *struct {
		Path string
		Main bool
	}
	GoFiles, CgoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string

	Error *struct{ Err string }

	isNamed bool // the patterns match it
}

// inMain reports whether a package belongs to the program's module.
func (l *listed) inMain() bool { return l.Module != nil && l.Module.Main }

// load lists the packages that the patterns match. It loads nothing that they import, so that a
// module that cannot be downloaded is no error. progress receives a line for each step. flags are
// those of go list.
func load(ctx context.Context, progress io.Writer, patterns []string, flags ...string) (*program, error) {
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
	p := &program{root: filepath.Dir(env.GOMOD), flags: flags, progress: progress, listed: map[string]*listed{}}
	fmt.Fprintf(progress, "list %s\n", command.Sanitize(strings.Join(patterns, " ")))
	all, err := p.list(ctx, patterns)
	if err != nil {
		return nil, err
	}
	return p, p.addPackages(all)
}

// list lists packages. One that cannot be loaded has an Error.
func (p *program) list(ctx context.Context, patterns []string) (all []*listed, err error) {
	out, err := gomod.GoShowing(ctx, p.progress, slices.Concat([]string{
		"list", "-e", "-find", "-json=Dir,ImportPath,Name,Module,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles,Error",
	}, p.flags, []string{"--"}, patterns)...)
	if err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		l := &listed{}
		switch err := decoder.Decode(l); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("read go list: %w", err)
		}
		all = append(all, l)
	}
}

// addPackages adds the packages that the patterns match.
func (p *program) addPackages(all []*listed) error {
	for _, l := range all {
		switch {
		case l.Dir == "" && l.Error != nil:
			return fmt.Errorf("list packages: %s", l.Error.Err)
		case !l.inMain():
			continue
		case l.Module.Path == gomod.Kinformer:
			return fmt.Errorf("%s is kinformer itself", filepath.Join(p.root, "go.mod"))
		}
		l.isNamed = true
		p.listed[l.ImportPath] = l
		if files := slices.Concat(l.GoFiles, l.CgoFiles, l.TestGoFiles); len(files)+len(l.XTestGoFiles) > 0 {
			p.packages = append(p.packages, &pkg{listed: l, files: append(files, l.IgnoredGoFiles...)}, &pkg{listed: l, files: l.XTestGoFiles})
		}
	}
	if len(p.packages) == 0 {
		return errors.New("list packages: the patterns match no package of this module")
	}
	return nil
}

// listImports lists packages that the program imports, whose modules may have to be downloaded. It
// returns the reasons why some cannot be loaded, by import path.
func (p *program) listImports(ctx context.Context, importPaths []string) (missing map[string]string, err error) {
	if importPaths = slices.DeleteFunc(importPaths, func(importPath string) bool { return p.lookup(importPath) != nil }); len(importPaths) == 0 {
		return nil, nil
	}
	fmt.Fprintf(p.progress, "list %s that may make informers\n", units.Plural(int64(len(importPaths)), "import"))
	all, err := p.list(ctx, importPaths)
	if err != nil {
		return nil, err
	}
	missing = map[string]string{}
	for _, l := range all {
		if l.Dir != "" {
			p.listed[l.ImportPath] = l
		} else if l.Error != nil {
			missing[l.ImportPath], _, _ = strings.Cut(l.Error.Err, "\n")
		}
	}
	return missing, nil
}

// lookup returns a listed package, or one in a folder below that of a listed one. It returns nil
// for others.
func (p *program) lookup(importPath string) *listed {
	if l, ok := p.listed[importPath]; ok {
		return l
	}
	for parent := path.Dir(importPath); parent != "."; parent = path.Dir(parent) {
		above := p.listed[parent]
		if above == nil {
			continue
		}
		l := &listed{Dir: filepath.Join(above.Dir, filepath.FromSlash(strings.TrimPrefix(importPath, parent))), ImportPath: importPath, Module: above.Module}
		if !l.readFolder() {
			return nil
		}
		p.listed[importPath] = l
		return l
	}
	return nil
}

// readFolder reads the name and the files of the package. It reports false if there are none.
func (l *listed) readFolder() bool {
	paths, _ := filepath.Glob(filepath.Join(l.Dir, "*.go")) // an error is one of the pattern
	for _, file := range paths {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly)
		if err == nil && parsed.Name.Name != "main" {
			l.Name = parsed.Name.Name
			l.GoFiles = append(l.GoFiles, filepath.Base(file))
		}
	}
	return l.Name != ""
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
