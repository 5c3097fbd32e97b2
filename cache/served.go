// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import "github.com/kinformer/kinformer/internal/served"

// Served is what is known of a resource that the server may begin and cease to serve, such as one of a
// CustomResourceDefinition. Method Resource of a follow.Follower returns one, for InformerOptions.Served.
// Several informers may share it.
type Served struct{ resource *served.Resource }

//nolint:gochecknoinits // these would be in the API otherwise
func init() {
	served.Publish = func(resource *served.Resource) any { return &Served{resource} }
	served.ResourceOf = func(published any) *served.Resource { return published.(*Served).internal() }
}

// internal returns the resource, nil if s is.
func (s *Served) internal() *served.Resource {
	if s == nil {
		return nil
	}
	return s.resource
}
