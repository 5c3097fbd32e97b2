// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/kinformer/kinformer/internal/scope"
)

// emptiedFor is how long an informer remembers that a namespace was deleted, with its objects.
const emptiedFor = time.Hour

// coverage is what the scopes of an informer say about an object that the store does not hold.
type coverage int

const (
	notCovered coverage = iota // no scope may hold it
	notListed                  // a scope that may hold it has not been listed
	covered                    // it does not exist, or its key does not decide whether a scope holds it
)

// coverageOf returns the coverage of the objects that a scope may hold, and that are all in it if
// all is true. It takes O(scopes) unless one has exactly the namespace.
func (s *scopes[V]) coverageOf(namespace string, holds func(scope.Scope) (may, all bool)) coverage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.held[scope.Scope{Namespace: namespace}]; held != nil && !held.leaving && isClosed(held.synced) {
		return covered
	}
	result := notCovered
	for _, held := range s.order {
		may, all := holds(held.scope)
		switch listed := isClosed(held.synced); {
		case held.leaving || !may:
		case listed && all:
			return covered
		case !listed:
			result = notListed
		case result == notCovered:
			result = covered
		}
	}
	if at, emptied := s.emptied[namespace]; result == notCovered && emptied && s.informer.clock.Since(at) < emptiedFor {
		return covered
	}
	return result
}

// whyAbsent is Config.Absent of the store.
func (s *scopes[V]) whyAbsent(key string) error {
	namespace, name := namespaceOf(key), nameOf(key)
	switch s.coverageOf(namespace, func(held scope.Scope) (may, all bool) { return held.MayHold(namespace, name) }) {
	case notCovered:
		return s.informer.absentError(key, "")
	case notListed:
		return s.informer.absentError(key, "not listed yet: ")
	default:
		return nil
	}
}

// absentError returns the error of an object that the store lacks, and that may exist.
func (i *Informer[V]) absentError(key, why string) error {
	if namespace := namespaceOf(key); namespace != "" {
		return fmt.Errorf("%s, namespace %q: %s%w", i.name, namespace, why, ErrNoScope)
	}
	return fmt.Errorf("%s: %s%w", i.name, why, ErrNoScope)
}

func nameOf(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// recordEmptied records that a namespace was deleted, with all its objects, or forgets it.
func (s *scopes[V]) recordEmptied(name scope.Scope, emptied bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !emptied {
		delete(s.emptied, name.Namespace)
		return
	}
	now := s.informer.clock.Now()
	maps.DeleteFunc(s.emptied, func(_ string, at time.Time) bool { return now.Sub(at) >= emptiedFor })
	if s.emptied == nil {
		s.emptied = make(map[string]time.Time)
	}
	s.emptied[name.Namespace] = now
}
