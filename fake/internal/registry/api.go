// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/kinformer/kinformer/fake/internal/resource"
)

// API is a served group and version.
type API struct {
	schema.GroupVersion
	Priority resource.Priority
	Stores   []*Store // sorted by the name of the resource
	Stale    bool     // the aggregated API server is not available
}

// Custom reports whether the resources are custom resources.
func (a API) Custom() bool {
	return len(a.Stores) > 0 && a.Stores[0].custom != nil
}

// APIs returns the served groups and versions in the order of kube-aggregator: groups by their
// priority and name, and the versions of a group from the preferred one on.
func (r *Registry) APIs() []API {
	r.mu.RLock()
	defer r.mu.RUnlock()
	byVersion := map[schema.GroupVersion]*API{}
	for gv, api := range r.aggregated {
		byVersion[gv] = &API{GroupVersion: gv, Priority: api.Priority, Stores: slices.Clone(api.stores), Stale: !api.available()}
	}
	for gvr, s := range r.byResource {
		gv := gvr.GroupVersion()
		if _, aggregated := r.aggregated[gv]; aggregated {
			continue
		}
		if byVersion[gv] == nil {
			priority := resource.BuiltInPriority(gv)
			if s.custom != nil {
				priority = resource.CustomPriority()
			}
			byVersion[gv] = &API{GroupVersion: gv, Priority: priority}
		}
		byVersion[gv].Stores = append(byVersion[gv].Stores, s)
	}
	groups := map[string]int32{} // priorities
	all := make([]API, 0, len(byVersion))
	for _, api := range byVersion {
		slices.SortFunc(api.Stores, func(a, b *Store) int {
			return cmp.Compare(a.GroupVersionResource.Resource, b.GroupVersionResource.Resource)
		})
		groups[api.Group] = max(groups[api.Group], api.Priority.Group)
		all = append(all, *api)
	}
	slices.SortFunc(all, func(a, b API) int {
		return cmp.Or(-cmp.Compare(groups[a.Group], groups[b.Group]), cmp.Compare(a.Group, b.Group),
			-cmp.Compare(a.Priority.Version, b.Priority.Version), -version.CompareKubeAwareVersionStrings(a.Version, b.Version))
	})
	return all
}
