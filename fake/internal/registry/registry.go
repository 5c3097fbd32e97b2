package registry

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/fake/internal/fieldset"
	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

// Registry holds one Store for each resource, all in one memory. Which resources there are is fixed when it is made.
type Registry struct {
	memory     *history.Memory
	byResource map[schema.GroupVersionResource]*Store
	byKind     map[schema.GroupVersionKind]*Store
}

// New makes a registry of the given resources, each with a history of that many changes, 0 for the default.
func New(memory *history.Memory, resources []*resource.Resource, historyLimit int) *Registry {
	r := &Registry{
		memory:     memory,
		byResource: map[schema.GroupVersionResource]*Store{},
		byKind:     map[schema.GroupVersionKind]*Store{},
	}
	for _, res := range resources {
		s := newStore(memory, res, historyLimit)
		r.byResource[res.GroupVersionResource] = s
		r.byKind[res.Kind] = s
	}
	return r
}

// ForResource returns the store of a resource, nil if it is not served.
func (r *Registry) ForResource(gvr schema.GroupVersionResource) *Store {
	return r.byResource[gvr]
}

// ForObject returns the store of an object's type.
func (r *Registry) ForObject(obj runtime.Object) (*Store, error) {
	gvks, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return nil, fmt.Errorf("cannot tell the kind of a %T: %w", obj, err)
	}
	for _, gvk := range gvks {
		if s := r.byKind[gvk]; s != nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("the server has no resource for %s (%T)", gvks[0], obj)
}

// Store is the objects of one resource.
type Store struct {
	*resource.Resource
	memory  *history.Memory
	objects *history.Collection
}

func newStore(memory *history.Memory, res *resource.Resource, limit int) *Store {
	blank := res.New()
	return &Store{
		Resource: res,
		memory:   memory,
		objects: memory.Collection(history.Spec{
			Resource:   res.GroupResource(),
			New:        res.New,
			Fields:     func(obj history.Object) fields.Fields { return fieldset.Of(obj) },
			CheckField: func(field string) error { return fieldset.Check(blank, field) },
			Limit:      limit,
		}),
	}
}

// List answers a list request with a list that is read only.
func (s *Store) List(namespace string, opts metav1.ListOptions) (runtime.Object, error) {
	page, err := s.objects.List(namespace, opts)
	if err != nil {
		return nil, err
	}
	return s.Resource.List(page.Items, metav1.ListMeta{
		ResourceVersion:    history.FormatVersion(page.Version),
		Continue:           page.Continue,
		RemainingItemCount: page.Remaining,
	})
}

// Watch answers a watch request.
func (s *Store) Watch(namespace string, opts metav1.ListOptions) (*history.Watcher, error) {
	return s.objects.Watch(namespace, opts)
}
