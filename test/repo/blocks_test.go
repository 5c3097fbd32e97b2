// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package repo_test

import (
	"errors"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/test/internal/compiled"
)

var (
	goBlock    = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")
	importLine = regexp.MustCompile(`(?m)^import [^(]*\n`)
)

// TestBlocksOfDocuments checks that each block of Go in a document parses and is formatted, and
// that it compiles if it is a program. Package documents of e2e/adopters checks the types of all.
func TestBlocksOfDocuments(t *testing.T) {
	blocks := 0
	for _, document := range documents(t) {
		for _, match := range goBlock.FindAllStringSubmatch(readText(t, document), -1) {
			blocks++
			if wrong := wrongBlock(t, match[1]); wrong != "" {
				t.Errorf("%s: %s in\n%s", document, wrong, match[1])
			}
		}
	}
	if blocks < 40 {
		t.Errorf("found %d blocks only", blocks)
	}
}

// wrongBlock returns what is wrong with a block of Go, or "". Statements may follow imports.
func wrongBlock(t *testing.T, block string) string {
	t.Helper()
	unformatted := importLine.ReplaceAllString(block, "")
	if formatted, err := format.Source([]byte(unformatted)); err != nil {
		return err.Error()
	} else if string(formatted) != unformatted {
		return "not formatted as by gofmt"
	}
	if !strings.HasPrefix(block, "package ") {
		return ""
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(block), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := compiled.List(t.Context(), ".", file)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ""
}

// TestWrongBlocks checks blocks that are wrong, or are not.
func TestWrongBlocks(t *testing.T) {
	for block, want := range map[string]string{
		"import \"fmt\"\nfmt.Println(x)\n": "",
		"fmt.Println(x\n":                  "missing ','",
		"x  := 1\n":                        "not formatted",
		"package main\n\nfunc main() {\n\tmissing()\n}\n": "undefined: missing",
	} {
		if got := wrongBlock(t, block); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", block, got, want)
		}
	}
}
