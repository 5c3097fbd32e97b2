// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// Get returns one object. If version is not empty and the server has not reached it, the error is
// 504 Timeout.
func (s *Store) Get(namespace, name, version string, replica history.Replica) (history.Object, error) {
	if err := s.checkVersionReached(version, replica); err != nil {
		return nil, err
	}
	obj, ok, err := s.objects.GetAt(history.Key(namespace, name), replica)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, s.notFound(name)
	}
	return s.Present(obj), nil
}

func (s *Store) checkVersionReached(version string, replica history.Replica) error {
	if version == "" {
		return nil
	}
	wanted, err := history.ParseVersion(version)
	if err != nil {
		return err
	}
	current := s.memory.Version()
	if replica > 0 {
		current = uint64(replica)
	}
	if wanted > current {
		return history.TooLarge(wanted, current)
	}
	return nil
}

// Page answers a list request. The items are in the stored version; see
// [resource.Resource.Present].
func (s *Store) Page(namespace string, opts metav1.ListOptions, replica history.Replica) (*history.Page, error) {
	return s.objects.List(namespace, opts, replica)
}

// ListOf returns the list object for a page. It shares the page's items and must not be modified.
func (s *Store) ListOf(page *history.Page) (runtime.Object, error) {
	return s.List(page.Items, metav1.ListMeta{
		ResourceVersion:    history.FormatVersion(page.Version),
		Continue:           page.Continue,
		RemainingItemCount: page.Remaining,
		ShardInfo:          page.ShardInfo,
	})
}

// Watch answers a watch request. The objects are in the stored version; see
// [resource.Resource.Present].
func (s *Store) Watch(namespace string, opts metav1.ListOptions, replica history.Replica) (*history.Watcher, error) {
	return s.objects.Watch(namespace, opts, replica)
}

// Objects yields all stored objects, sorted by group, resource and key. They must not be modified.
func (r *Registry) Objects() iter.Seq[history.Object] {
	return func(yield func(history.Object) bool) {
		for _, s := range r.collections() {
			for _, obj := range s.objects.All() {
				if !yield(obj.Object) {
					return
				}
			}
		}
	}
}

// collections returns one store of each collection, sorted by group and resource: versions of a
// custom resource share theirs.
func (r *Registry) collections() []*Store {
	r.mu.RLock()
	defer r.mu.RUnlock()
	stores := slices.DeleteFunc(slices.Collect(maps.Values(r.byResource)), func(s *Store) bool { return s.Kind != s.Stored })
	slices.SortFunc(stores, func(a, b *Store) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.GroupVersionResource.Resource, b.GroupVersionResource.Resource),
			cmp.Compare(a.Version, b.Version))
	})
	return stores
}
