package registry

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/fake/internal/fieldset"
	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

// Registry holds one Store for each resource, all in one memory. Custom resources come and go.
type Registry struct {
	memory *history.Memory
	limit  int

	mu         sync.RWMutex // guards everything below; never held together with the memory's
	byResource map[schema.GroupVersionResource]*Store
	byKind     map[schema.GroupVersionKind]*Store
	custom     map[schema.GroupResource]*history.Collection // shared by the versions of a custom resource
}

// New makes a registry of the given resources and of CustomResourceDefinitions, each with a history of that many changes, 0 for the default.
func New(memory *history.Memory, resources []*resource.Resource, historyLimit int) *Registry {
	r := &Registry{
		memory:     memory,
		limit:      historyLimit,
		byResource: map[schema.GroupVersionResource]*Store{},
		byKind:     map[schema.GroupVersionKind]*Store{},
		custom:     map[schema.GroupResource]*history.Collection{},
	}
	for _, res := range append(resources, resource.Definitions()) {
		r.add(res, r.collection(res))
	}
	return r
}

// add makes a resource known. The caller holds mu, but for New.
func (r *Registry) add(res *resource.Resource, objects *history.Collection) {
	s := &Store{Resource: res, registry: r, memory: r.memory, objects: objects}
	r.byResource[res.GroupVersionResource] = s
	r.byKind[res.Kind] = s
}

// collection makes the memory of a resource.
func (r *Registry) collection(res *resource.Resource) *history.Collection {
	blank := res.New()
	return r.memory.Collection(history.Spec{
		Resource:   res.GroupResource(),
		New:        res.New,
		Fields:     func(obj history.Object) fields.Fields { return fieldset.Of(obj) },
		CheckField: func(field string) error { return checkField(res, blank, field) },
		Limit:      r.limit,
	})
}

// checkField refuses selectors by fields that objects of a resource cannot be selected by.
func checkField(res *resource.Resource, blank history.Object, field string) error {
	if res.Custom && field != "metadata.name" && field != "metadata.namespace" && !slices.Contains(res.Selectable, field) {
		return fmt.Errorf("field label not supported: %s", field)
	}
	return fieldset.Check(blank, field)
}

// ForResource returns the store of a resource, nil if it is not served.
func (r *Registry) ForResource(gvr schema.GroupVersionResource) *Store {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byResource[gvr]
}

// ForObject returns the store of an object's type, or of the kind that it says it is.
func (r *Registry) ForObject(obj runtime.Object) (*Store, error) {
	gvks, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		gvks = []schema.GroupVersionKind{obj.GetObjectKind().GroupVersionKind()}
	}
	if gvks[0].Empty() {
		return nil, fmt.Errorf("cannot tell the kind of a %T: %w", obj, err)
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, gvk := range gvks {
		if s := r.byKind[gvk]; s != nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("the server has no resource for %s (%T)", gvks[0], obj)
}

// BuiltIn tells whether a group is not that of custom resources alone.
func (r *Registry) BuiltIn(group string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.ContainsFunc(slices.Collect(maps.Values(r.byResource)), func(s *Store) bool { return s.Group == group && (!s.Custom || s.isDefinitions()) })
}

// Resources returns all resources that are served now, by group, version and name.
func (r *Registry) Resources() []*resource.Resource {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]*resource.Resource, 0, len(r.byResource))
	for _, s := range r.byResource {
		all = append(all, s.Resource)
	}
	slices.SortFunc(all, func(a, b *resource.Resource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Resource, b.Resource))
	})
	return all
}

// Store is the objects of one resource. Its methods return stored objects, which are shared and read only; objects that are passed in belong to the
// store afterwards.
type Store struct {
	*resource.Resource
	registry *Registry
	memory   *history.Memory
	objects  *history.Collection
}

// Mode is how a write is made.
type Mode int

const (
	// Checked is how requests are carried out.
	Checked Mode = iota
	// DryRun does all but the write.
	DryRun
	// Trusted does not validate metadata: a test or a simulation that writes in this process may store what no request could.
	Trusted
)

// apply writes, or in a dry run does all but that.
func (s *Store) apply(key string, mode Mode, change func(current history.Object) (history.Object, error)) (history.Object, error) {
	if mode == DryRun {
		return s.objects.Try(key, change)
	}
	return s.objects.Apply(key, change)
}
