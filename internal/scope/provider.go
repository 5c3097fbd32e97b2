// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scope

// Provider is a type from which SetOf gets a set: *cache.Scopes, which embeds an OwnSet, and
// cache.View, which embeds a SetRef. Its method is not exported, so that the set is internal to
// this module.
type Provider interface{ providedSet() *Set }

// SetOf returns the set of a provider. It is nil for the View of an informer without Scopes.
func SetOf(p Provider) *Set { return p.providedSet() }

// OwnSet is a set.
type OwnSet struct{ set Set }

func (h *OwnSet) providedSet() *Set { return &h.set }

// SetRef refers to a set, or to none.
type SetRef struct{ set *Set }

// NewSetRef returns a SetRef to a set, which may be nil.
func NewSetRef(set *Set) SetRef { return SetRef{set} }

func (r SetRef) providedSet() *Set { return r.set }
