// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import "github.com/kinformer/kinformer/fake/internal/history"

// Caller is the client of a write request.
type Caller struct {
	// Manager is the name under which managedFields record the write. If empty, they do not.
	Manager string
	// Subresource is the subresource that the request writes, such as status.
	Subresource string
	// Unknown is called with the paths of fields that the schema of a custom resource does not
	// have. If it returns an error, nothing is written.
	Unknown func(fields []string) error

	applied bool // managedFields are those of server-side apply already
}

// For returns the store for the writes of a caller. It shares everything else with s.
func (s *Store) For(caller Caller) *Store {
	view := *s
	view.caller = caller
	return &view
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
