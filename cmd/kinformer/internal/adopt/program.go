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

// load lists the packages that the patterns match, and all that they import.
func load(ctx context.Context, patterns []string) (*program, error) {
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
	out, err := gomod.Go(ctx, append([]string{
		"list", "-deps", "-test", "-json=Dir,ImportPath,Name,ForTest,Module,DepOnly,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles",
	}, patterns...)...)
	if err != nil {
		return nil, err
	}
	return p, p.read(out)
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
