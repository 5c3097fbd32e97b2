// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
)

// summary counts what programs did.
type summary struct {
	programs, steps, requests int
	simulated                 time.Duration
	faults                    map[string]int // requests that had a fault, by fault.id
	pairs, triples            map[string]int // programs in which requests had each of these faults
	checks                    map[string]int // of each invariant
	met                       map[string]int // programs with an operation, a kind of handler, an option, ...
}

func (s *summary) add(x *execution) {
	if s.faults == nil {
		s.faults, s.pairs, s.triples = make(map[string]int), make(map[string]int), make(map[string]int)
		s.checks, s.met = make(map[string]int), make(map[string]int)
	}
	s.programs++
	s.steps += len(x.program.Steps)
	s.simulated += x.simulated
	s.requests += len(x.server.requests)
	for name, n := range x.checks {
		s.checks[name] += n
	}
	for what := range x.met {
		s.met[what]++
	}
	for _, what := range described(x.program) {
		s.met[what]++
	}
	s.addFaults(x.server.injected)
}

// addFaults counts the faults of a program. In pairs and triples, those that last forever are not
// different from others.
func (s *summary) addFaults(injected map[string]int) {
	kinds := make(map[string]bool)
	for id, n := range injected {
		s.faults[id] += n
		kinds[strings.TrimSuffix(id, lasting)] = true
	}
	all := sortedKeys(kinds)
	for i, a := range all {
		for j, b := range all[i+1:] {
			s.pairs[a+" + "+b]++
			for _, c := range all[i+1+j+1:] {
				s.triples[a+" + "+b+" + "+c]++
			}
		}
	}
}

// described returns the options of a program, and what is bad about its states.
func described(p program) (all []string) {
	o := reflect.ValueOf(p.Options)
	for i := range o.NumField() {
		if !o.Field(i).IsZero() {
			all = append(all, "option "+o.Type().Field(i).Name)
		}
	}
	for _, s := range p.Steps {
		if s.Bad != "" {
			all = append(all, "state "+s.Bad)
		}
	}
	return all
}

func (s *summary) String() string {
	injected := 0
	for _, n := range s.faults {
		injected += n
	}
	checks := 0
	for _, n := range s.checks {
		checks += n
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d programs, %d steps, %d requests, %v simulated\n", s.programs, s.steps, s.requests, s.simulated.Round(time.Hour))
	fmt.Fprintf(&text, "%d checks of %d invariants: %s\n", checks, len(s.checks), counts(s.checks))
	fmt.Fprintf(&text, "%d faults of %d kinds, %d pairs and %d triples of kinds: %s\n", injected, len(s.faults), len(s.pairs), len(s.triples), counts(s.faults))
	fmt.Fprintf(&text, "programs with: %s\n", counts(s.met))
	fmt.Fprintf(&text, "never met: %s", strings.Join(s.missing(), "; "))
	return text.String()
}

// writePairs writes the numbers of programs with each pair and triple of faults to a file, if it
// has a name.
func (s *summary) writePairs(file string) error {
	if file == "" {
		return nil
	}
	lines := slices.Concat(countLines(s.pairs), countLines(s.triples))
	return os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

func counts(m map[string]int) string { return strings.Join(countLines(m), "; ") }

func countLines(m map[string]int) []string {
	lines := make([]string, 0, len(m))
	for _, name := range sortedKeys(m) {
		lines = append(lines, fmt.Sprintf("%s %d", name, m[name]))
	}
	return lines
}
