// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kinformer/kinformer/internal/scope"
)

// emptiedFor is how long an informer remembers that a namespace was deleted, with its objects.
const emptiedFor = time.Hour

// Coverage is what the scopes of an informer say about an object that the store does not hold.
type Coverage int

// The values of a Coverage.
const (
	NotCovered Coverage = iota // no scope may hold it
	NotListed                  // a scope that may hold it has not been listed
	Undecided                  // it may be in a range of hashes of UIDs that no scope has
	Covered                    // it does not exist, or not in the selections of the scopes
)

// CoverageOf returns the coverage of the object with a key and a UID, which may be empty. A scope
// that is in the set, and not held yet, has not been listed. It takes O(scopes) unless one has
// exactly the namespace.
func (l *Loop) CoverageOf(key, uid string) Coverage {
	namespace, name := splitKey(key)
	added := slices.ContainsFunc(l.config.Set.All(), func(s scope.Scope) bool {
		return s.MayHold(namespace, name, uid) && l.find(s) == nil
	})
	result := l.coverageOf(namespace, name, uid)
	if result == Undecided && l.store.HasSeenDeletion(key) {
		return Covered
	}
	if added && result != Covered {
		return NotListed
	}
	return result
}

// coverageOf is CoverageOf for the scopes that the loop holds. The store says which of them have
// been listed, in one step with their entries and changes.
func (l *Loop) coverageOf(namespace, name, uid string) Coverage {
	l.mu.Lock()
	defer l.mu.Unlock()
	listing := l.store.Listing() // under mu: order has all scopes of the listing
	if held := l.held[scope.Scope{Namespace: namespace}]; held != nil && held.part.IsListedAt(listing) {
		return Covered
	}
	result := NotCovered
	for _, held := range l.order {
		switch listed := held.part.IsListedAt(listing); {
		case !held.name.MayHold(namespace, name, uid) || !listed && held.leaving:
		case !listed:
			return NotListed
		case uid == "" && held.name.Hash.Field == scope.UID && !l.hasAllHashes(listing, held.name.WithoutRange()):
			result = Undecided
		case result == NotCovered:
			result = Covered
		}
	}
	if at, emptied := l.emptied[namespace]; result == NotCovered && emptied && l.clock.Since(at) < emptiedFor {
		return Covered
	}
	return result
}

// hasAllHashes reports whether the scopes of a listing that differ only in their ranges have all
// hashes. The caller holds mu.
func (l *Loop) hasAllHashes(listing uint64, group scope.Scope) bool {
	if l.allHashesAt != listing {
		l.allHashesAt = listing
		clear(l.allHashes)
	}
	if all, known := l.allHashes[group]; known {
		return all
	}
	var ranges []scope.Range
	for _, held := range l.order {
		if held.name.WithoutRange() == group && held.part.IsListedAt(listing) {
			ranges = append(ranges, held.name.Hash)
		}
	}
	ranges = scope.Merge(ranges)
	all := len(ranges) == 1 && ranges[0].First == 0 && ranges[0].Last == math.MaxUint64
	l.allHashes[group] = all
	return all
}

// WhyAbsent is Config.Absent of the store: the error of a read of a missing key (store.Find and
// KeyError), which wraps ErrNoScope and says "not listed yet" if a scope that may hold the key was
// not listed. GetByKey of package cache returns no error, and reports false.
func (l *Loop) WhyAbsent(key string) error {
	namespace, name := splitKey(key)
	switch l.coverageOf(namespace, name, "") {
	case NotCovered:
		return l.AbsentError(key, "")
	case NotListed:
		return l.AbsentError(key, "not listed yet: ")
	case Undecided:
		if !l.store.HasSeenDeletion(key) {
			return l.AbsentError(key, "not in the ranges of hashes that it holds: ")
		}
	case Covered:
	}
	return nil
}

// AbsentError returns the error of an object that no scope holds, and that may exist.
func (l *Loop) AbsentError(key, why string) error {
	if namespace, _ := splitKey(key); namespace != "" {
		return fmt.Errorf("%s, namespace %q: %s%w", l.config.Name, namespace, why, ErrNoScope)
	}
	return fmt.Errorf("%s: %s%w", l.config.Name, why, ErrNoScope)
}

func splitKey(key string) (namespace, name string) {
	if before, after, namespaced := strings.Cut(key, "/"); namespaced {
		return before, after
	}
	return "", key
}

// recordEmptied records that a namespace was deleted, with all its objects, or forgets it.
func (l *Loop) recordEmptied(name scope.Scope, emptied bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !emptied {
		delete(l.emptied, name.Namespace)
		return
	}
	now := l.clock.Now()
	maps.DeleteFunc(l.emptied, func(_ string, at time.Time) bool { return now.Sub(at) >= emptiedFor })
	l.emptied[name.Namespace] = now
}
