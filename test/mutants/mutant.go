// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mutant is a broken variant of one file.
type mutant struct {
	name     string
	file     string   // slash-separated path in the repository
	tests    []string // arguments of go test: a package, by its path in the repository, then flags
	survives string   // why no test can kill it, if so
	from, to string   // whole lines
}

// load returns the mutants described in the files that match pattern.
func load(pattern string) ([]mutant, error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		mutants, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, mutants...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no mutants in %s", pattern)
	}
	return all, nil
}

// parse returns the mutants of one file. Lines before the first "===" are a comment.
func parse(text string) (mutants []mutant, err error) {
	var m *mutant
	for line := range strings.Lines(text) {
		kind, rest := split(strings.TrimSuffix(line, "\n"))
		if kind == "===" {
			mutants = append(mutants, mutant{name: rest})
			m = &mutants[len(mutants)-1]
		}
		if m == nil {
			continue
		}
		switch kind {
		case "===", "":
		case "file":
			m.file = rest
		case "test":
			m.tests = strings.Fields(rest)
		case "survives":
			m.survives = rest
		case " ":
			m.from, m.to = m.from+rest+"\n", m.to+rest+"\n"
		case "-":
			m.from += rest + "\n"
		case "+":
			m.to += rest + "\n"
		default:
			return nil, fmt.Errorf("%q: unknown line %q", m.name, line)
		}
	}
	for _, m := range mutants {
		if err := m.validate(); err != nil {
			return nil, fmt.Errorf("%q: %w", m.name, err)
		}
	}
	return mutants, nil
}

// split returns the first word of a line, or its first character in the lines of a change.
func split(line string) (kind, rest string) {
	if line != "" && strings.Contains(" -+", line[:1]) {
		return line[:1], line[1:]
	}
	kind, rest, _ = strings.Cut(line, " ")
	return kind, rest
}

func (m *mutant) validate() error {
	switch {
	case m.name == "" || m.file == "" || len(m.tests) == 0:
		return errors.New("needs a name, a file and tests")
	case m.from == "" || m.from == m.to:
		return errors.New("changes nothing")
	}
	return nil
}

// apply returns the changed file, and the number of the first line that changes.
func (m *mutant) apply(root string) (text string, line int, err error) {
	original, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return "", 0, err
	}
	text = "\n" + string(original)
	if n := strings.Count(text, "\n"+m.from); n != 1 {
		return "", 0, fmt.Errorf("%s has the lines of mutant %q %d times, not once", m.file, m.name, n)
	}
	before, after, _ := strings.Cut(text, "\n"+m.from)
	text = before + "\n" + m.to + after
	return text[1:], strings.Count(before, "\n") + 1 + m.unchanged(), nil
}

// unchanged returns the number of lines before the first one that changes.
func (m *mutant) unchanged() (n int) {
	from, to := strings.Split(m.from, "\n"), strings.Split(m.to, "\n")
	for n < min(len(from), len(to)) && from[n] == to[n] {
		n++
	}
	return n
}
