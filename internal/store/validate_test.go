// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// validate checks the structure: each entry is in the indexes under exactly the values that it
// records, each index value has keys, and each key an entry.
func (s *Store) validate() error {
	s.writer.Lock()
	defer s.writer.Unlock()
	snapshot := s.Snapshot()
	for i, name := range snapshot.set.names {
		want := 0
		for key, item := range snapshot.entries.All() {
			entry := new(Entry).fromMap(item)
			for _, value := range entry.shared.element(i).list() {
				want++
				if set := snapshot.indexes[i].Get(value); set == nil || !set.Has(key) {
					return fmt.Errorf("index %q: key %q not found under %q", name, key, value)
				}
			}
		}
		have := 0
		for value, item := range snapshot.indexes[i].All() {
			set := item.Value
			if set.Len() == 0 {
				return fmt.Errorf("index %q: value %q has no keys", name, value)
			}
			have += set.Len()
		}
		if have != want {
			return fmt.Errorf("index %q: has %d keys, entries record %d", name, have, want)
		}
	}
	if err := cmp.Or(s.validateScopes(), s.validateQuarantine()); err != nil {
		return err
	}
	if keys := snapshot.Keys(); len(keys) != snapshot.Len() || len(slices.Compact(slices.Sorted(slices.Values(keys)))) != len(keys) {
		return fmt.Errorf("%d keys for %d entries, or a duplicate key", len(keys), snapshot.Len())
	}
	return s.validatePackedBytes()
}

// validatePackedBytes checks the size that is counted of a store that packs.
func (s *Store) validatePackedBytes() error {
	if s.config.Packer == nil {
		return nil
	}
	packedBytes := 0
	for _, item := range s.entries.All() {
		packedBytes += packedOf(item.Value).object.Size()
	}
	if counted := s.PackedBytes(); counted != int64(packedBytes) {
		return fmt.Errorf("%d packed bytes are counted, the entries have %d", counted, packedBytes)
	}
	return nil
}

// validateQuarantine checks that each scope's quarantined keys are counted, and no others.
func (s *Store) validateQuarantine() error {
	q := &s.quarantine
	q.mu.Lock()
	defer q.mu.Unlock()
	want := make(map[*Scope]failureCount)
	for c, n := range q.scopes {
		if n.unnamed > 0 {
			want[c] = failureCount{unnamed: n.unnamed}
		}
	}
	for _, f := range q.keys {
		n := want[f.scope]
		n.keys++
		want[f.scope] = n
	}
	if !maps.Equal(q.scopes, want) || q.size.Load() != int64(len(want)) {
		return fmt.Errorf("the quarantine has %v, size %d, and counts %v", want, q.size.Load(), q.scopes)
	}
	return nil
}

// validateScopes checks that the index of scopes has each entry under its scope alone, and that no
// tombstone is kept that is not counted.
func (s *Store) validateScopes() error {
	ix := s.live.Load().indexes
	if ix.scopes == nil {
		return nil
	}
	indexed := 0
	for _, set := range ix.scopes.All() {
		indexed += set.Value.Len()
	}
	for key, item := range s.entries.All() {
		if set := ix.ofScope(item.Meta.scope()); set == nil || !set.Has(key) {
			return fmt.Errorf("key %q is not found in its scope", key)
		}
	}
	if indexed != s.entries.Len() {
		return fmt.Errorf("%d keys in scopes, %d entries", indexed, s.entries.Len())
	}
	for key, t := range s.tombstones.byKey {
		if t.key != key || !slices.Contains(s.tombstones.inOrder, t) {
			return fmt.Errorf("the tombstone of %q is kept without a reason: %+v", key, t)
		}
	}
	return nil
}
