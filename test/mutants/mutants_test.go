// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// minMutants is the least number of mutants.
const minMutants = 60

// TestMutantsApply checks that the lines of each mutant are still in its file, once.
func TestMutantsApply(t *testing.T) {
	mutants, err := load("*.diff")
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, m := range mutants {
		if names[m.name] {
			t.Errorf("two mutants are called %q", m.name)
		}
		names[m.name] = true
		if _, _, err := m.apply(filepath.Join("..", "..")); err != nil {
			t.Error(err)
		}
	}
	if len(mutants) < minMutants {
		t.Errorf("%d mutants, want at least %d", len(mutants), minMutants)
	}
}

// TestParse reads one mutant and rejects incomplete ones.
func TestParse(t *testing.T) {
	const text = "a comment\n\n=== a name\nfile mutant.go\ntest . -run=X\n package main\n-\timport\n+\timport\n+\tmore\n"
	mutants, err := parse(strings.Replace(text, "-\timport\n", "-\told\n", 1))
	if err != nil || len(mutants) != 1 {
		t.Fatal(mutants, err)
	}
	m := mutants[0]
	if m.name != "a name" || m.from != "package main\n\told\n" || m.to != "package main\n\timport\n\tmore\n" || m.unchanged() != 1 {
		t.Errorf("%+v", m)
	}
	for _, incomplete := range []string{"=== a\n", "=== a\nfile b\ntest c\n", "=== a\nfile b\ntest c\n-d\n+d\n", "=== a\nunknown\n"} {
		if _, err := parse(incomplete); err == nil {
			t.Errorf("parse accepts %q", incomplete)
		}
	}
}

// TestPackagesWithRapid names packages of module test as mutants do.
func TestPackagesWithRapid(t *testing.T) {
	rapid, err := packagesWithRapid(t.Context(), filepath.Join("..", ".."))
	if err != nil || !rapid["./test/model"] || rapid["./test/faults"] {
		t.Errorf("%v, %v", rapid, err)
	}
}

// TestGoTest runs a test of the main module, and one of module test.
func TestGoTest(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	name, err := overlay(t.TempDir(), root, "internal/units/unused.go", "package units\n")
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{root: root}
	for _, tests := range [][]string{{"./internal/units"}, {"./test/mutants", "-run=TestParse"}} {
		if killer, err := r.goTest(t.Context(), name, tests, time.Minute); killer != "" || err != nil {
			t.Errorf("%v: %q, %v", tests, killer, err)
		}
	}
}

// TestReadEvents finds the first test that failed, hung or did not compile.
func TestReadEvents(t *testing.T) {
	const failed = `{"Action":"run","Test":"TestA"}
{"Action":"fail","Test":"TestA/sub"}
{"Action":"fail","Test":"TestA"}
{"Action":"fail"}`
	if r := readEvents(strings.NewReader(failed)); r.killer != "TestA" || r.last != "TestA" {
		t.Errorf("%+v", r)
	}
	const hung = `{"Action":"output","Output":"panic: test timed out after 1s\n"}
{"Action":"output","Output":"running tests:\n"}
{"Action":"output","Output":"\tTestB (1s)\n"}`
	if r := readEvents(strings.NewReader(hung)); r.killer != "TestB (by its timeout)" {
		t.Errorf("%+v", r)
	}
	const broken = `{"Action":"build-output","Output":"a.go:1: undefined: x\n"}`
	if r := readEvents(strings.NewReader(broken)); r.broken == "" || r.killer != "" {
		t.Errorf("%+v", r)
	}
}
