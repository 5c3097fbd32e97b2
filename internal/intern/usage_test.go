// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import "testing"

// usage is the space that tables have and use.
type usage struct {
	slots   int
	entries int
	bytes   int // of the keys
}

func (u usage) plus(other usage) usage {
	return usage{u.slots + other.slots, u.entries + other.entries, u.bytes + other.bytes}
}

func (t *table[V]) usage() (u usage) {
	if t.current.Load() == nil {
		return usage{}
	}
	sets := t.current.Load().sets
	u.slots = len(sets) * ways
	for i := range sets {
		sets[i].each(func(_ uint32, e *entry[V]) {
			u.entries++
			u.bytes += len(e.key)
		})
	}
	return u
}

func (s *Strings) usage() usage { return s.short.usage().plus(s.long.usage()) }

func (j *JSONStrings) usage() usage { return j.values.usage().plus(j.members.usage()) }

// checkTable checks the invariants of a table.
func checkTable[V any](t *testing.T, table *table[V]) {
	t.Helper()
	g := table.current.Load()
	sets := g.sets
	if len(sets) > table.limits.maxSets {
		t.Errorf("table has %d sets, want at most %d", len(sets), table.limits.maxSets)
	}
	for i := range sets {
		if n := sets[i].keyBytes(); table.limits.setBytes != unlimited && n > table.limits.setBytes {
			t.Errorf("set %d has %d bytes of keys, want at most %d", i, n, table.limits.setBytes)
		}
		sets[i].each(func(tag uint32, e *entry[V]) {
			if g.set(tag) != &sets[i] {
				t.Errorf("entry %q is in the wrong set", e.key)
			}
		})
	}
}
