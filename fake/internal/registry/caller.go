// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/fake/internal/defaults"
	"github.com/kinformer/kinformer/fake/internal/history"
)

// Caller is the client of a write request.
type Caller struct {
	// Manager is the name under which managedFields record the write. If empty, they do not.
	Manager string
	// Subresource is the subresource that the request writes, such as status.
	Subresource string
	// Unknown is called with the paths of fields that the schema of a custom resource does not
	// have. If it returns an error, nothing is written.
	Unknown func(fields []string) error
	// Edit, if not nil, is called with the object of a create or an update, before it is validated,
	// and returns the one to write. An update calls it with the memory's lock held.
	Edit func(runtime.Object) runtime.Object

	applied bool // managedFields are those of server-side apply already
}

// For returns the store for the writes of a caller. It shares everything else with s.
func (s *Store) For(caller Caller) *Store {
	view := *s
	view.caller = caller
	return &view
}

// edit returns the object to write in place of obj.
func (s *Store) edit(obj history.Object) history.Object {
	if s.caller.Edit == nil {
		return obj
	}
	next := deepCopy(obj)
	defaults.Set(next)
	next = s.caller.Edit(next).(history.Object)
	defaults.Set(next) // of what was added
	s.Conform(next)
	return next
}

// conform prunes and defaults a new object by the schema of its custom resource, and sets the label
// that a Namespace has by default.
func (s *Store) conform(obj history.Object) error {
	setNameLabel(obj)
	unknown := s.Conform(obj)
	if len(unknown) == 0 || s.caller.Unknown == nil {
		return nil
	}
	return s.caller.Unknown(unknown)
}
