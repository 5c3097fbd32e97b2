// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strings"
)

// IndexSize describes an index.
type IndexSize struct {
	Name   string
	Values int // under which the index has objects
}

// Indexes returns the indexes of the snapshot, in the order of their names.
func (v *snapshotData[V]) Indexes() []IndexSize {
	sizes := make([]IndexSize, 0, len(v.indexes))
	for i, name := range v.set.names {
		sizes = append(sizes, IndexSize{name, v.indexes[i].Len()})
	}
	slices.SortFunc(sizes, func(a, b IndexSize) int { return strings.Compare(a.Name, b.Name) })
	return sizes
}

// FindKeys returns the first keys that contain a text, in order and at most limit, and the number
// of all such keys. It sorts no more keys at a time than twice the limit.
func (v *snapshotData[V]) FindKeys(text string, limit int) (keys []string, found int) {
	for key := range v.entries.All() {
		if !strings.Contains(key, text) {
			continue
		}
		found++
		if keys = append(keys, key); len(keys) >= 2*limit {
			keys = smallest(keys, limit)
		}
	}
	return smallest(keys, limit), found
}

// smallest sorts keys and returns the first ones, at most limit.
func smallest(keys []string, limit int) []string {
	slices.Sort(keys)
	return keys[:min(len(keys), limit)]
}
