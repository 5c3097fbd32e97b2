// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"runtime"
	"slices"
	"testing"

	"github.com/kinformer/kinformer/internal/scope"
)

// ranges returns n adjacent ranges of hashes of UIDs.
func ranges(n int) (all []*Scope) {
	const width = 1 << 40
	for i := range uint64(n) {
		hashes := scope.Range{Field: scope.UID, First: i * width, Last: (i+1)*width - 1}
		all = append(all, &Scope{Name: scope.Scope{Hash: hashes}})
	}
	return all
}

// That all ranges may hold the same keys is not kept for each pair of them.
func TestRelationsOfRangesTakeLittleMemory(t *testing.T) {
	h := newHarness()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for _, added := range ranges(4096) {
		h.AddScope(added)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := after.HeapAlloc - before.HeapAlloc; held > 2<<20 { // pairs took 132 MB
		t.Errorf("4096 ranges take %d bytes", held)
	}
	runtime.KeepAlive(h)
}

// Scopes are related by what they select, also once one was removed: a deletion may refer to it.
func TestScopesAreRelatedByWhatTheySelect(t *testing.T) {
	names := map[string]scope.Scope{
		"all":          {},
		"a":            {Namespace: "a"},
		"a, dev":       {Namespace: "a", LabelSelector: "dev"},
		"b":            {Namespace: "b"},
		"low":          {Hash: scope.Range{Field: scope.UID, Last: 1<<63 - 1}},
		"high":         {Hash: scope.Range{Field: scope.UID, First: 1 << 63, Last: 1<<64 - 1}},
		"high, dev":    {LabelSelector: "dev", Hash: scope.Range{Field: scope.UID, First: 1 << 63, Last: 1<<64 - 1}},
		"namespace a":  {Hash: scope.Range{Field: scope.Namespace, First: scope.HashOf("a"), Last: scope.HashOf("a")}},
		"namespace b":  {Hash: scope.Range{Field: scope.Namespace, First: scope.HashOf("b"), Last: scope.HashOf("b")}},
		"b's, of devs": {LabelSelector: "dev", Hash: scope.Range{Field: scope.Namespace, First: scope.HashOf("b"), Last: scope.HashOf("b")}},
	}
	h := newHarness()
	held := make(map[string]*Scope)
	for title, name := range names {
		held[title] = &Scope{Name: name}
		h.AddScope(held[title])
	}
	expect := func(c *Scope) {
		t.Helper()
		for title, other := range held {
			if got, want := slices.Contains(slices.Collect(c.keysWith()), other), c != other && scope.ShareKeys(c.Name, other.Name); got != want {
				t.Errorf("%v may hold the keys of %s: %v, want %v", c.Name, title, got, want)
			}
			if got, want := slices.Contains(slices.Collect(c.movesTo()), other), scope.CanMove(c.Name, other.Name); got != want {
				t.Errorf("an object can move from %v to %s: %v, want %v", c.Name, title, got, want)
			}
		}
	}
	for title := range names {
		removed := held[title]
		expect(removed)
		h.RemoveScope(removed, true)
		delete(held, title)
		expect(removed)
	}
}
