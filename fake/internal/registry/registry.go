// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/fake/internal/fieldset"
	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

// Registry holds a Store for each resource. All stores share one memory. Custom resources are added
// and removed with their definitions. It is safe for concurrent use.
type Registry struct {
	memory   *history.Memory
	limit    int
	services serviceAllocator

	// namespaces has the name of each Namespace that exists, or was removed. Those that were never
	// created need not exist.
	namespaces sync.Map

	// reconciling is held during a write that decides what is served, up to its effects. It
	// precedes mu and the memory's lock.
	reconciling sync.RWMutex

	mu         sync.RWMutex // guards the fields below; never held together with the memory's lock
	byResource map[schema.GroupVersionResource]*Store
	byKind     map[schema.GroupVersionKind]*Store
	custom     map[string]*customResource // by the name of the definition
	aggregated map[schema.GroupVersion]*aggregatedAPI
	extensions map[schema.GroupVersion][]*Store // the resources of aggregated API servers, registered or not
}

// New returns a registry of the given resources, of CustomResourceDefinitions and of APIServices.
// The log of each resource holds historyLimit changes; 0 means [history.DefaultLimit].
func New(memory *history.Memory, resources []*resource.Resource, historyLimit int) *Registry {
	r := &Registry{
		memory:     memory,
		limit:      historyLimit,
		byResource: map[schema.GroupVersionResource]*Store{},
		byKind:     map[schema.GroupVersionKind]*Store{},
		custom:     map[string]*customResource{},
		aggregated: map[schema.GroupVersion]*aggregatedAPI{},
		extensions: map[schema.GroupVersion][]*Store{},
	}
	for _, res := range append(resources, resource.Definitions(), resource.APIServices()) {
		r.add(r.newStore(res, r.collection(res), nil))
	}
	r.registerBuiltIn()
	return r
}

func (r *Registry) newStore(res *resource.Resource, objects *history.Collection, custom *customResource) *Store {
	types := builtInTypes
	switch {
	case custom != nil:
		types = custom.types
	case res.Custom:
		types = managedfields.NewDeducedTypeConverter
	}
	return &Store{
		Resource: res, registry: r, memory: r.memory, objects: objects, custom: custom, withdrawn: make(chan struct{}),
		fields: newFieldManagers(res, types),
	}
}

// add starts serving a store. The caller must hold mu, except in New.
func (r *Registry) add(s *Store) {
	r.byResource[s.GroupVersionResource] = s
	r.byKind[s.Kind] = s
}

// collection returns a new collection for a resource.
func (r *Registry) collection(res *resource.Resource) *history.Collection {
	example := res.New()
	return r.memory.Collection(history.Spec{
		Resource:   res.GroupResource(),
		New:        res.New,
		Fields:     func(obj history.Object) fields.Fields { return fieldset.Of(obj) },
		CheckField: func(field string) error { return checkField(res, example, field) },
		Limit:      r.limit,
	})
}

// checkField returns an error for a field that selectors of the resource do not support.
func checkField(res *resource.Resource, example history.Object, field string) error {
	if res.Custom && field != "metadata.name" && field != "metadata.namespace" && !slices.Contains(res.Selectable, field) {
		return fmt.Errorf("field label not supported: %s", field)
	}
	return fieldset.Check(example, field)
}

// ForResource returns the store of a resource, or nil if it is not served.
func (r *Registry) ForResource(gvr schema.GroupVersionResource) *Store {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if s, ok := r.aggregatedStore(gvr.GroupVersion(), func(s *Store) bool { return s.GroupVersionResource == gvr }); ok {
		return s
	}
	return r.byResource[gvr]
}

// ForObject returns the store for an object's Go type or, for a type that is not in client-go's
// scheme, for the kind that is set in the object.
func (r *Registry) ForObject(obj runtime.Object) (*Store, error) {
	gvks, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		gvks = []schema.GroupVersionKind{obj.GetObjectKind().GroupVersionKind()}
	}
	if gvks[0].Empty() {
		return nil, fmt.Errorf("find store of %T: unknown kind, set apiVersion and kind: %w", obj, err)
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, gvk := range gvks {
		s, aggregated := r.aggregatedStore(gvk.GroupVersion(), func(s *Store) bool { return s.Kind == gvk })
		if !aggregated {
			s = r.byKind[gvk]
		}
		if s != nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("find store of %T: no resource for %s", obj, gvks[0])
}

// BuiltIn reports whether a group has built-in resources.
func (r *Registry) BuiltIn(group string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.ContainsFunc(slices.Collect(maps.Values(r.byResource)), func(s *Store) bool {
		return s.Group == group && s.custom == nil
	})
}

// Store holds the objects of one resource. Returned objects are shared and must not be modified. An
// object passed to a method must not be used afterwards. It is safe for concurrent use.
type Store struct {
	*resource.Resource
	registry  *Registry
	memory    *history.Memory
	objects   *history.Collection
	custom    *customResource // nil for a built-in resource
	withdrawn chan struct{}   // closed when the store is no longer served
	fields    *fieldManagers
	caller    Caller // of the writes
}

// Withdrawn returns a channel that is closed when the store is no longer served. Watches must end
// then.
func (s *Store) Withdrawn() <-chan struct{} {
	return s.withdrawn
}

// Terminating reports whether the definition of a custom resource is being deleted. Objects can be
// read, updated and deleted then, but not created.
func (s *Store) Terminating() bool {
	return s.custom != nil && s.custom.terminating.Load()
}

// Mode says how a write is validated and whether it is stored.
type Mode int

const (
	// Checked validates metadata, and custom resources by their schemas. It is the mode of
	// requests.
	Checked Mode = iota
	// DryRun validates as Checked does and does not store the object.
	DryRun
	// Trusted does not validate. Tests and simulations that write without a request may store
	// objects that no request could.
	Trusted
)

// apply calls change on the current object and stores the result, unless mode is DryRun.
func (s *Store) apply(key string, mode Mode, change func(current history.Object) (history.Object, error)) (history.Object, error) {
	if mode == DryRun {
		return s.objects.DryRun(key, change)
	}
	return s.objects.Apply(key, change)
}
