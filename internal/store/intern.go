// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"hash/maphash"
	"slices"
)

// valueInterner makes entries with equal index values share one indexValues. It drops everything
// it knows once it has maxInterned of them. The zero value is ready to use.
type valueInterner struct {
	shared map[uint64]*indexValues // by hash
}

const maxInterned = 4096

// intern returns an indexValues with the given values and scope: old or a shared one if it has the
// same, nil if there are neither indexes nor a scope.
func (in *valueInterner) intern(byIndex [][]string, scope *Scope, old *indexValues) *indexValues {
	if len(byIndex) == 0 && scope == nil {
		return nil
	}
	if old != nil && old.scope == scope && sameValues(old.byIndex, byIndex) {
		return old
	}
	hash := hashOf(byIndex, scope)
	if v := in.shared[hash]; v != nil && v.scope == scope && sameValues(v.byIndex, byIndex) {
		return v
	}
	if in.shared == nil || len(in.shared) >= maxInterned {
		in.shared = make(map[uint64]*indexValues)
	}
	v := &indexValues{byIndex: byIndex, scope: scope}
	in.shared[hash] = v
	return v
}

func sameValues(a, b [][]string) bool { return slices.EqualFunc(a, b, slices.Equal[[]string]) }

// hashOf returns a hash that is equal for equal index values and scopes.
func hashOf(byIndex [][]string, scope *Scope) uint64 {
	var h maphash.Hash
	h.SetSeed(hashSeed)
	if scope != nil {
		maphash.WriteComparable(&h, scope)
	}
	for _, values := range byIndex {
		h.WriteByte(0xff)
		for _, value := range values {
			h.WriteString(value)
			h.WriteByte(0xfe)
		}
	}
	return h.Sum64()
}
