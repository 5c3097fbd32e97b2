// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"fmt"
	"maps"
	"slices"
)

// Diff returns the differences of a state from that of the undisturbed run, one line each, sorted
// by object and path. It is empty if the states are equal.
func Diff(want, got State) []string {
	var lines []string
	for _, name := range union(want, got) {
		switch {
		case got[name] == nil:
			lines = append(lines, name+" is missing, and is there in the undisturbed run")
		case want[name] == nil:
			lines = append(lines, name+" is there, and not in the undisturbed run")
		default:
			lines = append(lines, diffFields(name, want[name], got[name])...)
		}
	}
	return lines
}

func diffFields(name string, want, got map[string]string) []string {
	var lines []string
	for _, path := range union(want, got) {
		before, hasBefore := want[path]
		after, hasAfter := got[path]
		switch {
		case !hasAfter:
			lines = append(lines, fmt.Sprintf("%s: no %s, which is %q in the undisturbed run", name, path, before))
		case !hasBefore:
			lines = append(lines, fmt.Sprintf("%s: %s is %q, and not set in the undisturbed run", name, path, after))
		case before != after:
			lines = append(lines, fmt.Sprintf("%s: %s is %q, and %q in the undisturbed run", name, path, after, before))
		}
	}
	return lines
}

// union returns the sorted keys of two maps.
func union[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}
