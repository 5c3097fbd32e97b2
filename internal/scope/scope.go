// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Scope is a part of a collection: the objects that all of its fields select. An empty field
// selects every object, so that the zero value is the whole collection.
type Scope struct {
	Namespace     string
	LabelSelector string
	FieldSelector string
	Hash          Range
}

// Range is a range of hashes, both ends included. The zero value does not restrict a scope.
type Range struct {
	Field       string // UID or Namespace
	First, Last uint64
}

// The fields that can be hashed, as in the shard selector of a request (KEP-5866).
const (
	UID       = "object.metadata.uid"
	Namespace = "object.metadata.namespace"
)

// HashOf returns the hash of a field's value: 64-bit FNV-1a, as in apimachinery's package sharding.
// It is called for every item, so it allocates nothing, unlike the functions of package fnv.
func HashOf(value string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	hash := uint64(offset)
	for i := range len(value) {
		hash = (hash ^ uint64(value[i])) * prime
	}
	return hash
}

// Contains reports whether a range contains the hash of a value.
func (r Range) Contains(value string) bool {
	hash := HashOf(value)
	return r.First <= hash && hash <= r.Last
}

func (r Range) isZero() bool { return r == Range{} }

// meets reports whether two ranges, of hashes of one field, have a hash in common.
func (r Range) meets(other Range) bool { return r.First <= other.Last && other.First <= r.Last }

// String describes the scope for errors and logs.
func (s Scope) String() string {
	var parts []string
	add := func(format, value string) {
		if value != "" {
			parts = append(parts, fmt.Sprintf(format, value))
		}
	}
	add("namespace %q", s.Namespace)
	add("labels %q", s.LabelSelector)
	add("fields %q", s.FieldSelector)
	if !s.Hash.isZero() {
		parts = append(parts, fmt.Sprintf("hashes %016x-%016x of %s", s.Hash.First, s.Hash.Last, s.Hash.Field))
	}
	if len(parts) == 0 {
		return "the whole collection"
	}
	return strings.Join(parts, ", ")
}

// Canonical returns the scope with its selectors in one form, that of labels.Selector.String and
// fields.Selector.String, so that equal scopes are equal values. It returns an error that names the
// field if one is invalid.
func (s Scope) Canonical() (Scope, error) {
	byLabels, err := labels.Parse(s.LabelSelector)
	if err != nil {
		return s, fmt.Errorf("LabelSelector %q: %w", s.LabelSelector, err)
	}
	byFields, err := fields.ParseSelector(s.FieldSelector)
	if err != nil {
		return s, fmt.Errorf("FieldSelector %q: %w", s.FieldSelector, err)
	}
	s.LabelSelector, s.FieldSelector = byLabels.String(), byFields.String()
	return s, s.Hash.check()
}

var errHashField = errors.New(`Hash.Field must be "` + UID + `" or "` + Namespace + `"`)

func (r Range) check() error {
	switch {
	case r.isZero():
		return nil
	case r.Field != UID && r.Field != Namespace:
		return fmt.Errorf("%w, not %q", errHashField, r.Field)
	case r.First > r.Last:
		return fmt.Errorf("range of hashes: First %016x is greater than Last %016x", r.First, r.Last)
	}
	return nil
}

// ShareKeys reports whether objects in two scopes may have the same key, one after the other.
func ShareKeys(a, b Scope) bool {
	if a.Namespace != "" && b.Namespace != "" && a.Namespace != b.Namespace {
		return false
	}
	if a.Hash.Field == Namespace && b.Hash.Field == Namespace {
		return a.Hash.meets(b.Hash)
	}
	return a.mayHaveNamespace(b.Namespace) && b.mayHaveNamespace(a.Namespace)
}

// mayHaveNamespace reports whether the scope's range has the hash of a namespace. An empty argument
// stands for any namespace.
func (s Scope) mayHaveNamespace(namespace string) bool {
	return s.Hash.Field != Namespace || namespace == "" || s.Hash.Contains(namespace)
}

// HasNamespace reports whether the scope's namespace and range select a namespace.
func (s Scope) HasNamespace(namespace string) bool {
	return (s.Namespace == "" || s.Namespace == namespace) && (s.Hash.Field != Namespace || s.Hash.Contains(namespace))
}

// MayHold reports whether objects with a key may be in the scope, and whether all of them are: the
// key alone decides.
func (s Scope) MayHold(namespace, name string) (may, all bool) {
	if !s.HasNamespace(namespace) {
		return false, false
	}
	all = s.LabelSelector == "" && s.Hash.Field != UID
	if s.FieldSelector == "" {
		return true, all
	}
	selector, err := fields.ParseSelector(s.FieldSelector)
	if err != nil {
		return true, false
	}
	for _, requirement := range selector.Requirements() {
		switch value, known := (fields.Set{"metadata.name": name, "metadata.namespace": namespace})[requirement.Field]; {
		case !known:
			all = false
		case (value == requirement.Value) != (requirement.Operator != "!="):
			return false, false
		}
	}
	return true, all
}

// CanMove reports whether an object can leave a for b by a change of its labels or fields.
func CanMove(a, b Scope) bool {
	sameSelectors := a.LabelSelector == b.LabelSelector && a.FieldSelector == b.FieldSelector
	return !sameSelectors && mayShareUIDs(a, b)
}

// mayShareUIDs reports whether an object could be in both scopes if they had no selectors.
func mayShareUIDs(a, b Scope) bool {
	return ShareKeys(a, b) && (a.Hash.Field != UID || b.Hash.Field != UID || a.Hash.meets(b.Hash))
}

// Overlap reports whether an object could be in both of two canonical scopes at a time.
func Overlap(a, b Scope) bool { return make(parsed).overlap(a, b) }

// Covers reports whether the scope's namespace and range select an object. An object keeps its
// namespace and UID, but may come to match the selectors, which Covers ignores.
func (s Scope) Covers(namespace, uid string) bool {
	return s.HasNamespace(namespace) && (s.Hash.Field != UID || s.Hash.Contains(uid))
}

// WithoutRange returns what scopes that differ only in their ranges have in common.
func (s Scope) WithoutRange() Scope {
	s.Hash.First, s.Hash.Last = 0, 0
	return s
}

// Selectors returns a scope that has only the selectors. Objects move between scopes of different
// ones alone; see CanMove.
func (s Scope) Selectors() Scope {
	return Scope{LabelSelector: s.LabelSelector, FieldSelector: s.FieldSelector}
}
