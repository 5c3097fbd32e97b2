// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strings"
	"unsafe"
)

// sharedMeta is the part of an entryMeta that many entries have in common. It is a linked list: the
// head is the element of the last index, and the tail that of the origin. Entries with equal values
// under the first indexes share their tails, and entries with an equal value share the value (see
// indexes.share). So an entry takes 16 bytes for each index from the first one on under which no
// other entry has the same values up to there.
type sharedMeta struct {
	rest   *sharedMeta  // of the indexes before and the origin; nil if there are none
	values *indexValues // under the index; nil if it has none, &originMarker in an originMeta
}

// origin is what an entry records of where it comes from.
type origin struct {
	scope   *Scope // nil if the store has the whole collection
	written bool   // the program has written the entry, of a store with scopes: its version says nothing of other states
	version string // if it is a number of 2^63 or more
}

// originMeta is the last element of a sharedMeta. A zero origin has none.
type originMeta struct {
	sharedMeta
	origin
}

var originMarker indexValues //nolint:gochecknoglobals // only its address is used

// originMetas are those of the entries of a scope: of the server and written by the program.
type originMetas [2]originMeta

func originMetasOf(c *Scope) originMetas {
	element := sharedMeta{values: &originMarker}
	return originMetas{{element, origin{scope: c}}, {element, origin{scope: c, written: true}}}
}

// meta returns the sharedMeta of an entry without values: nil if the origin is zero.
func (o origin) meta() *sharedMeta {
	switch {
	case o.version != "": // of one entry alone
		o.version = strings.Clone(o.version)
		return &(&originMeta{sharedMeta{values: &originMarker}, o}).sharedMeta
	case o.scope == nil:
		return nil
	case o.written:
		return &o.scope.origins[1].sharedMeta
	}
	return &o.scope.origins[0].sharedMeta
}

// origin returns the origin, a zero one if m is nil or has none.
func (m *sharedMeta) origin() origin {
	if m = m.last(); m == nil {
		return origin{}
	}
	return (*originMeta)(unsafe.Pointer(m)).origin //nolint:gosec // made by origin.meta
}

// last returns the element of the origin, nil if there is none.
func (m *sharedMeta) last() *sharedMeta {
	for m.isOfIndex() {
		m = m.rest
	}
	return m
}

// isOfIndex reports whether m is neither nil nor the element of the origin.
func (m *sharedMeta) isOfIndex() bool { return m != nil && m.values != &originMarker }

// indexes returns the number of indexes whose values the entry records.
func (m *sharedMeta) indexes() (n int) {
	for ; m.isOfIndex(); m = m.rest {
		n++
	}
	return n
}

// element returns the element of the index at position i, or nil if the index was added after the
// entry was made.
func (m *sharedMeta) element(i int) *sharedMeta {
	n := m.indexes()
	if i >= n {
		return nil
	}
	for ; n > i+1; n-- {
		m = m.rest
	}
	return m
}

// maxListed is the number of indexes above which elements allocates.
const maxListed = 8

// elements appends the elements of the indexes to room, in the order of the indexes.
func (m *sharedMeta) elements(room []*sharedMeta) []*sharedMeta {
	for ; m.isOfIndex(); m = m.rest {
		room = append(room, m)
	}
	slices.Reverse(room)
	return room
}

// withRest returns the element m, or an equal one with another rest.
func (m *sharedMeta) withRest(rest *sharedMeta) *sharedMeta {
	if m.rest == rest {
		return m
	}
	return &sharedMeta{rest, m.values}
}

// withOrigin returns m with another element of the origin, which may be nil.
func (m *sharedMeta) withOrigin(last *sharedMeta) *sharedMeta {
	if !m.isOfIndex() {
		return last
	}
	return m.withRest(m.rest.withOrigin(last))
}

// hasValuesOf reports whether two elements, either of which may be nil, share their values.
func (m *sharedMeta) hasValuesOf(other *sharedMeta) bool {
	return m != nil && other != nil && m.values == other.values
}

// list returns the values under the index of the element m, none if m is nil.
func (m *sharedMeta) list() []string {
	if m == nil {
		return nil
	}
	return m.values.list()
}

// indexValues are the values of an object under an index. They are immutable. There is one value in
// most cases, so others are in a severalValues.
type indexValues struct {
	one [1]string // begins at &severalMarker in a severalValues
}

type severalValues struct {
	indexValues
	list []string // sorted and without duplicates
}

var severalMarker byte //nolint:gochecknoglobals // only its address is used

// newIndexValues returns the values that an index function has returned, nil if there are none. If
// they are those of known, it returns known.
func newIndexValues(values []string, known *indexValues) *indexValues {
	if slices.Equal(values, known.list()) {
		return known
	}
	if len(values) > 1 {
		values = slices.Clone(values)
		slices.Sort(values)
		values = slices.Compact(values)
		if slices.Equal(values, known.list()) {
			return known
		}
	}
	switch len(values) {
	case 0:
		return nil
	case 1:
		return &indexValues{[1]string{values[0]}}
	}
	return &(&severalValues{indexValues{[1]string{unsafe.String(&severalMarker, 1)}}, values}).indexValues
}

func (v *indexValues) list() []string {
	switch {
	case v == nil:
		return nil
	case unsafe.StringData(v.one[0]) == &severalMarker:
		return (*severalValues)(unsafe.Pointer(v)).list //nolint:gosec // made by newIndexValues
	}
	return v.one[:]
}
