// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Scope is a part of a collection: the objects that all of its fields select. An empty field
// selects every object, so that the zero value is the whole collection.
type Scope struct {
	Namespace     string
	Name          string // of the only object; in a FieldSelector unless the scope is canonical
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
	add("name %q", s.Name)
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
// fields.Selector.String, so that equal scopes are equal values. A namespace and a name that the
// field selector requires become those of the scope. It returns an error that names the field if
// one is invalid.
func (s Scope) Canonical() (Scope, error) {
	byLabels, err := labels.Parse(s.LabelSelector)
	if err != nil {
		return s, fmt.Errorf("LabelSelector %q: %w", s.LabelSelector, err)
	}
	byFields, err := fields.ParseSelector(s.FieldSelector)
	if err != nil {
		return s, fmt.Errorf("FieldSelector %q: %w", s.FieldSelector, err)
	}
	rest := []fields.Selector{}
	for _, r := range byFields.Requirements() {
		switch {
		case r.Operator == selection.NotEquals:
			rest = append(rest, fields.OneTermNotEqualSelector(r.Field, r.Value))
		case r.Value != "" && r.Field == "metadata.namespace":
			err = errors.Join(err, require(&s.Namespace, r))
		case r.Value != "" && r.Field == "metadata.name":
			err = errors.Join(err, require(&s.Name, r))
		default:
			rest = append(rest, fields.OneTermEqualSelector(r.Field, r.Value))
		}
	}
	s.LabelSelector, s.FieldSelector = byLabels.String(), fields.AndSelectors(rest...).String()
	return s, errors.Join(err, s.Hash.check())
}

// require sets a field of a scope to the value that a field selector requires.
func require(field *string, r fields.Requirement) error {
	if *field != "" && *field != r.Value {
		return fmt.Errorf("FieldSelector: %s=%s, and %q: %w", r.Field, r.Value, *field, errEmpty)
	}
	*field = r.Value
	return nil
}

var errEmpty = errors.New("no object has both")

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

// HasNamespace reports whether the scope's namespace and range select a namespace. Cluster-scoped
// objects have the empty one.
func (s Scope) HasNamespace(namespace string) bool {
	return (s.Namespace == "" || s.Namespace == namespace) && (s.Hash.Field != Namespace || s.Hash.Contains(namespace))
}

// MayHold reports whether an object may be in the scope. Its namespace, name and UID never change.
// It may come to match the selectors, which MayHold ignores. An empty uid stands for any.
func (s Scope) MayHold(namespace, name, uid string) bool {
	return s.HasNamespace(namespace) && (s.Name == "" || s.Name == name) &&
		(s.Hash.Field != UID || uid == "" || s.Hash.Contains(uid))
}

// MayShareKeys reports whether objects in two canonical scopes may have the same key, one after the
// other. Two scopes of a set that do have equal selectors, and disjoint ranges of UIDs.
func MayShareKeys(a, b Scope) bool {
	switch {
	case a.Namespace != "" && b.Namespace != "" && a.Namespace != b.Namespace, a.Name != "" && b.Name != "" && a.Name != b.Name:
		return false
	case a.Hash.Field == Namespace && b.Hash.Field == Namespace:
		return a.Hash.meets(b.Hash)
	}
	return a.mayHaveNamespace(b.Namespace) && b.mayHaveNamespace(a.Namespace)
}

// mayHaveNamespace reports whether the scope's range has the hash of a namespace. An empty argument
// stands for any namespace.
func (s Scope) mayHaveNamespace(namespace string) bool {
	return s.Hash.Field != Namespace || namespace == "" || s.Hash.Contains(namespace)
}

var (
	errSelectors = errors.New("may hold the same keys, and have different selectors")
	errRanges    = errors.New("may hold the same keys, and have no ranges of hashes of UIDs that are disjoint")
)

// checkTogether returns an error unless a set may have both of two canonical scopes: the key and
// the UID of an object must determine its scope.
func (s Scope) checkTogether(other Scope) error {
	switch {
	case !MayShareKeys(s, other):
		return nil
	case s.LabelSelector != other.LabelSelector || s.FieldSelector != other.FieldSelector:
		return errSelectors
	case s.Hash.Field != UID || other.Hash.Field != UID || s.Hash.meets(other.Hash):
		return errRanges
	}
	return nil
}

// WithoutRange returns what scopes that differ only in their ranges have in common.
func (s Scope) WithoutRange() Scope {
	s.Hash.First, s.Hash.Last = 0, 0
	return s
}
