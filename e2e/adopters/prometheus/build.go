// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package prometheus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	original = "github.com/prometheus/prometheus/discovery/kubernetes"
	edited   = "github.com/kinformer/kinformer/e2e/adopters/prometheus/kubernetes"
	program  = "github.com/kinformer/kinformer/e2e/adopters/prometheus/discover"
)

// Build compiles command discover for a variant into a folder. It returns the program's path and
// the number of changed lines of the discovery.
func Build(ctx context.Context, v Variant, folder string) (path string, diff Diff, err error) {
	args := []string{"build"}
	if len(v.Edits) > 0 {
		overlay, d, err := overlay(ctx, v, folder)
		if err != nil {
			return "", diff, err
		}
		args, diff = append(args, "-overlay", overlay), d
	}
	path = filepath.Join(folder, "discover")
	_, err = goCommand(ctx, append(args, "-o", path, program)...)
	return path, diff, err
}

// BuildTest compiles the discovery's own tests for a variant with edits into a folder. It returns
// the path of the test program.
func BuildTest(ctx context.Context, v Variant, folder string) (path string, err error) {
	overlay, _, err := overlay(ctx, v, folder)
	if err != nil {
		return "", err
	}
	path = filepath.Join(folder, "discovery.test")
	_, err = goCommand(ctx, "test", "-c", "-vet=off", "-overlay", overlay, "-o", path, edited) // vet needs the folder to exist
	return path, err
}

// overlay writes the edited discovery into a folder, and a file for -overlay in which it is package
// edited, which command discover imports instead of the original.
func overlay(ctx context.Context, v Variant, folder string) (path string, diff Diff, err error) {
	here, err := packageFiles(ctx, program)
	if err != nil {
		return "", diff, err
	}
	discovery, err := packageFiles(ctx, original)
	if err != nil {
		return "", diff, err
	}
	replace := map[string]string{}
	write := func(target, content string) error {
		source := filepath.Join(folder, fmt.Sprint(len(replace), ".go"))
		replace[target] = source
		return os.WriteFile(source, []byte(content), 0o600)
	}
	for _, name := range v.files(discovery.GoFiles) {
		before, after, err := discovery.edit(name, v.apply)
		if err := errors.Join(err, write(filepath.Join(here.Dir, "..", "kubernetes", name), after)); err != nil {
			return "", diff, err
		}
		diff.add(before, after)
	}
	for _, name := range discovery.TestGoFiles { // their go test must not find this module's
		replace[filepath.Join(here.Dir, "..", "kubernetes", name)] = filepath.Join(discovery.Dir, name)
	}
	for _, name := range here.GoFiles {
		_, after, err := here.edit(name, func(_, content string) (string, error) { return strings.ReplaceAll(content, original, edited), nil })
		if err := errors.Join(err, write(filepath.Join(here.Dir, name), after)); err != nil {
			return "", diff, err
		}
	}
	content, err := json.Marshal(map[string]any{"Replace": replace})
	path = filepath.Join(folder, "overlay.json")
	return path, diff, errors.Join(err, os.WriteFile(path, content, 0o600))
}

// files are the Go files of a package.
type files struct {
	Dir                  string
	GoFiles, TestGoFiles []string
}

func packageFiles(ctx context.Context, importPath string) (f files, err error) {
	out, err := goCommand(ctx, "list", "-json=Dir,GoFiles,TestGoFiles", importPath)
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(out, &f)
}

// edit returns the content of a file before and after an edit. A file that does not exist is empty.
func (f files) edit(name string, edit func(name, content string) (string, error)) (before, after string, err error) {
	content, err := os.ReadFile(filepath.Join(f.Dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	after, err = edit(name, string(content))
	return string(content), after, err
}

func goCommand(ctx context.Context, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", args...)
	var failure bytes.Buffer
	command.Stderr = &failure
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s%s", strings.Join(args, " "), err, out, failure.Bytes())
	}
	return out, nil
}
