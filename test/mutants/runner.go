// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// runner runs mutants.
type runner struct {
	root     string
	rapid    map[string]bool // packages whose tests import rapid
	named    bool            // run only the tests that the mutants name
	by       []string        // run these tests only
	race     bool            // with the race detector; see buildFlags
	modfile  string          // for the tests of ./shard; see buildFlags
	parallel int             // number of mutants to run at a time

	mu                           sync.Mutex // guards the fields below
	survivors, explained, broken []string
	killed                       int
}

const (
	namedTimeout   = time.Minute
	packageTimeout = 10 * time.Minute
)

// run runs the mutants, prints a line for each, and reports whether one survived unexplained or
// could not be run.
func (r *runner) run(ctx context.Context, mutants []mutant) (failed bool, err error) {
	began := time.Now()
	next := make(chan mutant)
	var workers sync.WaitGroup
	for range r.parallel {
		workers.Go(func() {
			for m := range next {
				r.runAndPrint(ctx, m)
			}
		})
	}
	for _, m := range mutants {
		next <- m
	}
	close(next)
	workers.Wait()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	fmt.Printf("\n%d mutants in %v: %d killed, %d survive with an explanation, %d survive without, %d cannot be run\n",
		len(mutants), time.Since(began).Round(time.Second), r.killed, len(r.explained), len(r.survivors), len(r.broken))
	printList("survive with an explanation", r.explained)
	printList("survive", r.survivors)
	printList("cannot be run", r.broken)
	return len(r.broken) > 0 || len(r.by) == 0 && len(r.survivors) > 0, nil
}

// runAndPrint runs a mutant, unless ctx has ended, and prints the result.
func (r *runner) runAndPrint(ctx context.Context, m mutant) {
	if ctx.Err() != nil {
		return
	}
	start := time.Now()
	at, killer, err := r.runOne(ctx, m)
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	result := r.record(m, killer, err)
	fmt.Printf("%-75s %-45s %5.0f s  %s\n", m.name, at, time.Since(start).Seconds(), result)
}

func printList(title string, lines []string) {
	if slices.Sort(lines); len(lines) > 0 {
		fmt.Printf("\n%s:\n  %s\n", title, strings.Join(lines, "\n  "))
	}
}

// record counts a mutant and returns the text of its result.
func (r *runner) record(m mutant, killer string, err error) string {
	switch {
	case err != nil:
		r.broken = append(r.broken, fmt.Sprintf("%s: %v", m.name, err))
		return "ERROR"
	case killer != "":
		r.killed++
		return killer
	case m.survives != "":
		r.explained = append(r.explained, m.name+": "+m.survives)
		return "survives: " + m.survives
	}
	r.survivors = append(r.survivors, m.name)
	return "SURVIVES"
}

// runOne returns where a mutant changes the file, and the test that kills it.
func (r *runner) runOne(ctx context.Context, m mutant) (at, killer string, err error) {
	text, line, err := m.apply(r.root)
	if err != nil {
		return m.file, "", err
	}
	at = fmt.Sprintf("%s:%d", m.file, line)
	folder, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return at, "", err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	overlay, err := overlay(folder, r.root, m.file, text)
	if err != nil {
		return at, "", err
	}
	for i, tests := range r.stages(m) {
		timeout := packageTimeout
		if i == 0 && len(r.by) == 0 {
			timeout = namedTimeout
		}
		killer, err := r.goTest(ctx, overlay, tests, timeout)
		if err != nil || killer != "" {
			return at, r.describe(i, tests, killer), err
		}
	}
	return at, "", nil
}

// describe names a test that kills a mutant, and its package if the mutant names another one.
func (r *runner) describe(stage int, tests []string, killer string) string {
	if stage == 0 || killer == "" {
		return killer
	}
	return fmt.Sprintf("%s in %s, which the mutant does not name", killer, tests[0])
}

// stages returns the tests to run, the first ones first: those that the mutant names, their
// package, that of the changed file, and the black-box tests.
func (r *runner) stages(m mutant) [][]string {
	if len(r.by) > 0 {
		return [][]string{r.by}
	}
	stages := [][]string{m.tests}
	if r.named || m.survives != "" { // the explanation says why the others do not see it
		return stages
	}
	for _, folder := range []string{m.tests[0], "./" + path.Dir(m.file), "./test/model", "./test/faults"} {
		if !slices.ContainsFunc(stages[1:], func(tests []string) bool { return tests[0] == folder }) {
			stages = append(stages, []string{folder, "-race"})
		}
	}
	return stages
}
