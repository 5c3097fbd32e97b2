// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"sync/atomic"

	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/scoped"
	"github.com/kinformer/kinformer/internal/store"
)

// lastID is the ID of the informer made last.
var lastID atomic.Uint64 //nolint:gochecknoglobals // informers of a process have different IDs

// ID returns a number that no other informer of the process has. Later informers have larger ones.
func (i *Informer[V]) ID() uint64 { return i.id }

// UniqueName returns name, or name#2 and so on if another informer of the process has that one. The
// first call decides it.
func (i *Informer[V]) UniqueName(name string) string { return i.unique.Name(name) }

// HasStopped reports whether Run has returned, or the reflector has stopped and Run waits for the last
// calls of handlers.
func (i *Informer[V]) HasStopped() bool {
	return i.returned.Load() || i.reflector.Phase() == reflector.Stopped
}

// Changes returns the number of changes that were made to the store so far.
func (i *Informer[V]) Changes() uint64 { return i.log.Appended() }

// Indexes returns the indexes of the store, in the order of their names.
func (i *Informer[V]) Indexes() []store.IndexSize { return i.store.Snapshot().Indexes() }

// IndexErrors returns how often each index function has failed, without those that have not.
func (i *Informer[V]) IndexErrors() map[string]uint64 { return i.store.IndexErrors() }

// FindKeys returns the first keys that contain a text, in order and at most limit, and the number
// of all such keys.
func (i *Informer[V]) FindKeys(text string, limit int) (keys []string, found int) {
	return i.store.Snapshot().FindKeys(text, limit)
}

// Value returns the stored object that has a key, and reports whether there is one. The error is
// KeyError for an object that could never be stored.
func (i *Informer[V]) Value(key string) (value any, exists bool, err error) {
	return i.store.Find(key)
}

// ScopeStatus returns the condition of each scope, in the order in which they were added. It
// returns nil for an informer without scopes.
func (i *Informer[V]) ScopeStatus() []scoped.ScopeStatus {
	if i.scopes == nil {
		return nil
	}
	return i.scopes.ScopeStatus()
}

// StatusOfScope returns the condition of one scope, if the informer, which has scopes, holds it.
func (i *Informer[V]) StatusOfScope(name scope.Scope) (status scoped.ScopeStatus, held bool) {
	return i.scopes.StatusOfScope(name)
}

// LacksScopes reports whether the informer holds scopes of which none has been listed.
func (i *Informer[V]) LacksScopes() bool { return i.scopes != nil && i.scopes.LacksScopes() }
