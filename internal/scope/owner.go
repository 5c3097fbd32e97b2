// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scope

// Owner is a type with a set, which SetOf returns: *cache.Scopes, which embeds an OwnSet, and
// cache.View, which embeds a SetRef. Neither has an exported method for it, so that the set is
// internal to this module.
type Owner interface{ ownSet() *Set }

// SetOf returns the set of an owner. It is nil for the View of an informer without Scopes.
func SetOf(owner Owner) *Set { return owner.ownSet() }

// OwnSet is a set.
type OwnSet struct{ set Set }

func (h *OwnSet) ownSet() *Set { return &h.set }

// SetRef refers to a set, or to none.
type SetRef struct{ set *Set }

// NewSetRef returns a SetRef to a set, which may be nil.
func NewSetRef(set *Set) SetRef { return SetRef{set} }

func (r SetRef) ownSet() *Set { return r.set }
