package fake

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/registry"
)

// Get reads the object with obj's namespace and name into obj.
func (s *APIServer) Get(obj Object) error {
	return s.inProcess(obj, func(store *registry.Store, request history.Object) (history.Object, error) {
		return store.Get(request.GetNamespace(), request.GetName(), "", 0)
	})
}

// Create creates obj. On success obj is as the server holds it, with name, UID, resourceVersion and creationTimestamp; without a status where only
// the status subresource writes that, as for Pods.
func (s *APIServer) Create(obj Object) error {
	return s.inProcess(obj, func(store *registry.Store, request history.Object) (history.Object, error) {
		return store.Create(request.GetNamespace(), request, registry.Trusted)
	})
}

// Update replaces the stored object, but for its status where that is a subresource. If obj has a resourceVersion it must be the current one. On
// success obj is as the server holds it.
func (s *APIServer) Update(obj Object) error {
	return s.inProcess(obj, func(store *registry.Store, request history.Object) (history.Object, error) {
		return updated(store.Update(request.GetNamespace(), request.GetName(), request, registry.Trusted))
	})
}

// UpdateStatus replaces the status of the stored object, and of the rest what the kind's status subresource writes: labels and annotations for most,
// nothing for custom resources. If obj has a resourceVersion it must be the current one. On success obj is as the server holds it.
func (s *APIServer) UpdateStatus(obj Object) error {
	return s.inProcess(obj, func(store *registry.Store, request history.Object) (history.Object, error) {
		if !store.HasStatus {
			return nil, fmt.Errorf("cannot update the status of %s %q: %s has no status subresource", store.Kind.Kind, history.KeyOf(request), store.GroupResource())
		}
		return updated(store.UpdateStatus(request.GetNamespace(), request.GetName(), request, registry.Trusted))
	})
}

func updated(obj history.Object, _ bool, err error) (history.Object, error) {
	return obj, err
}

// Delete removes the object with obj's namespace and name at once, in one write, whatever finalizers or grace period it has. If obj has a UID it must
// be that of the stored one. On success obj is its last state, with the version of the delete.
func (s *APIServer) Delete(obj Object) error {
	return s.inProcess(obj, func(store *registry.Store, request history.Object) (history.Object, error) {
		return store.Remove(request.GetNamespace(), request.GetName(), request.GetUID())
	})
}

// inProcess does what a request would do with a copy of obj, and puts a copy of the answer into obj, without kind and apiVersion if it had none.
func (s *APIServer) inProcess(obj Object, request func(*registry.Store, history.Object) (history.Object, error)) error {
	store, err := s.registry.ForObject(obj)
	if err != nil {
		return err
	}
	copied, err := as(store.New(), obj)
	if err != nil {
		return err
	}
	answer, err := request(store, copied)
	if err != nil {
		return err
	}
	result, err := as(obj, answer)
	if err != nil {
		return err
	}
	kind := obj.GetObjectKind().GroupVersionKind()
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(result).Elem())
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return nil
}

// as returns a copy of obj of the example's Go type: unstructured objects may stand for typed ones, and the other way round.
func as(example, obj Object) (Object, error) {
	if reflect.TypeOf(example) == reflect.TypeOf(obj) {
		return clone(obj), nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("cannot convert a %T to a %T: %w", obj, example, err)
	}
	if _, ok := example.(*unstructured.Unstructured); ok {
		return &unstructured.Unstructured{Object: runtime.DeepCopyJSON(fields)}, nil
	}
	typed := reflect.New(reflect.TypeOf(example).Elem()).Interface().(Object)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, typed); err != nil {
		return nil, fmt.Errorf("cannot convert a %T to a %T: %w", obj, example, err)
	}
	return typed, nil
}
