// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import "fmt"

// Aggregate serves custom resources as an aggregated API server does: with an APIService for each
// group and version, such as "v1.example.com", instead of CustomResourceDefinitions. The resources
// are served while their APIService exists and is available. Their objects stay when it is deleted,
// and are served again when it is created again.
func (s *APIServer) Aggregate(resources ...CustomResource) error {
	for _, custom := range resources {
		definition, err := custom.definition()
		if err != nil {
			return err
		}
		if err := s.registry.Extend(definition); err != nil {
			return fmt.Errorf("aggregate %s: %w", definition.GetName(), err)
		}
	}
	return nil
}

// SetAvailable sets the condition Available of an aggregated API's APIService, as kube-aggregator
// does when an aggregated API server goes down or comes back. While the API is not available,
// requests for it get 503, its entry in aggregated discovery is stale, and its watches have ended.
// It returns a 404 error if there is no such APIService.
func (s *APIServer) SetAvailable(apiService string, available bool) error {
	return s.registry.SetAvailable(apiService, available)
}
