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
	groups := map[string]int32{} // priorities
	for gvr, s := range r.byResource {
		api := byVersion[gvr.GroupVersion()]
		if api == nil {
			api = &API{GroupVersion: gvr.GroupVersion(), Priority: resource.PriorityOf(gvr.GroupVersion())}
			byVersion[gvr.GroupVersion()] = api
			groups[api.Group] = max(groups[api.Group], api.Priority.Group)
		}
		api.Stores = append(api.Stores, s)
	}
	all := make([]API, 0, len(byVersion))
	for _, api := range byVersion {
		slices.SortFunc(api.Stores, func(a, b *Store) int { return cmp.Compare(a.Resource.Resource, b.Resource.Resource) })
		all = append(all, *api)
	}
	slices.SortFunc(all, func(a, b API) int {
		return cmp.Or(-cmp.Compare(groups[a.Group], groups[b.Group]), cmp.Compare(a.Group, b.Group),
			-cmp.Compare(a.Priority.Version, b.Priority.Version), -version.CompareKubeAwareVersionStrings(a.Version, b.Version))
	})
	return all
}
