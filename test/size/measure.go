// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/kinformer/kinformer"

// imported are the packages that programs import.
var imported = []string{"cache", "clientgo"} //nolint:gochecknoglobals // a constant

// size is the size of Go files.
type size struct{ files, lines, code int } // code is the lines without comments and blank ones

func (s size) plus(t size) size {
	return size{s.files + t.files, s.lines + t.lines, s.code + t.code}
}

// pkg is a package that a program compiles.
type pkg struct {
	path     string // in the repository
	purpose  string
	users    []string // of the imported packages, those that it is compiled for
	compiled size
	vendored size // what go mod vendor copies: files for other systems, too; code is not counted
}

// measurement is the packages of the module that a program compiles, each after those that it
// imports, and the size of the licence, which is vendored with them.
type measurement struct {
	packages []pkg
	licence  size
}

// measure measures the packages of the module in a folder.
func measure(ctx context.Context, root string) (m measurement, err error) {
	for _, user := range imported {
		listed, err := list(ctx, root, user)
		if err != nil {
			return m, err
		}
		for _, l := range listed {
			path := strings.TrimPrefix(l.ImportPath, module+"/")
			i := slices.IndexFunc(m.packages, func(p pkg) bool { return p.path == path })
			if i < 0 {
				p, err := l.measure(path)
				if err != nil {
					return m, err
				}
				i, m.packages = len(m.packages), append(m.packages, p)
			}
			m.packages[i].users = append(m.packages[i].users, user)
		}
	}
	licence, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	m.licence = size{files: 1, lines: lines(licence)}
	return m, err
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Doc string
	GoFiles              []string
	Module               *struct{ Path string }
}

// list returns the packages of the module that a package is compiled from, each after those that it
// imports.
func list(ctx context.Context, root, user string) (packages []listed, err error) {
	command := exec.CommandContext(ctx, "go", "list", "-deps", "-json=ImportPath,Dir,Doc,GoFiles,Module", "./"+user)
	command.Dir, command.Stderr = root, os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, fmt.Errorf("read go list: %w", err)
		}
		if p.Module != nil && p.Module.Path == module {
			packages = append(packages, p)
		}
	}
}

// measure reads the files of a package.
func (l listed) measure(path string) (pkg, error) {
	_, purpose, _ := strings.Cut(strings.TrimPrefix(l.Doc, "Package "), " ")
	p := pkg{path: path, purpose: strings.TrimRight(purpose, ".:")}
	entries, err := os.ReadDir(l.Dir)
	if err != nil {
		return p, err
	}
	for _, entry := range entries {
		if entry.IsDir() || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(l.Dir, entry.Name()))
		if err != nil {
			return p, err
		}
		p.vendored = p.vendored.plus(size{files: 1, lines: lines(content)})
		if slices.Contains(l.GoFiles, entry.Name()) {
			p.compiled = p.compiled.plus(size{1, lines(content), code(content)})
		}
	}
	return p, nil
}

func lines(content []byte) int { return bytes.Count(content, []byte("\n")) }

// code returns the number of lines of a Go file that are neither blank nor comments alone.
func code(content []byte) (n int) {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(content))
	var s scanner.Scanner
	s.Init(file, content, nil, 0)
	last := 0 // the last line that is counted
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue
		}
		first := file.Line(pos)
		end := first + strings.Count(literal, "\n") // of a raw string
		n += end - max(last, first-1)
		last = end
	}
}
