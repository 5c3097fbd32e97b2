// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"fmt"
	"iter"
	"math"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/registry"
)

// Get sets obj to the stored object with obj's namespace and name. It returns a 404 error if there
// is no such object.
func (s *APIServer) Get(obj Object) error {
	return s.inProcess(obj, func(store *registry.Store, request history.Object) (history.Object, error) {
		return store.Get(request.GetNamespace(), request.GetName(), "", 0)
	})
}

// Create creates an object from a copy of obj. On success it sets obj to the stored object, with
// name, UID, resourceVersion and creationTimestamp. For resources with a status subresource, Create
// drops the status of obj.
func (s *APIServer) Create(obj Object) error {
	return s.inProcess(obj, func(store *registry.Store, request history.Object) (history.Object, error) {
		return store.Create(request.GetNamespace(), request, registry.Trusted)
	})
}

// Update replaces the stored object with a copy of obj, and keeps the stored status if the resource
// has a status subresource. If obj has a resourceVersion, it must be the current one; otherwise
// Update returns a 409 error. On success Update sets obj to the stored object.
func (s *APIServer) Update(obj Object) error {
	return s.inProcess(obj, func(store *registry.Store, request history.Object) (history.Object, error) {
		return updated(store.Update(request.GetNamespace(), request.GetName(), request, registry.Trusted))
	})
}

// UpdateStatus replaces the status of the stored object, and other fields that the status
// subresource of the resource writes: labels and annotations for most built-in resources, none for
// custom resources. If obj has a resourceVersion, it must be the current one; otherwise
// UpdateStatus returns a 409 error. It returns an error if the resource has no status subresource.
// On success it sets obj to the stored object.
func (s *APIServer) UpdateStatus(obj Object) error {
	return s.inProcess(obj, func(store *registry.Store, request history.Object) (history.Object, error) {
		if !store.HasStatus {
			return nil, fmt.Errorf("update status of %s %q: %s has no status subresource", store.Kind.Kind, history.KeyOf(request), store.GroupResource())
		}
		return updated(store.UpdateStatus(request.GetNamespace(), request.GetName(), request, registry.Trusted))
	})
}

// updated drops the second result of an update.
func updated(obj history.Object, _ bool, err error) (history.Object, error) {
	return obj, err
}

// Delete removes the object with obj's namespace and name at once, in one write, regardless of
// finalizers and grace period. If obj has a UID, it must be that of the stored object; otherwise
// Delete returns a 409 error. On success it sets obj to the last state of the object, with the
// resourceVersion of the deletion.
func (s *APIServer) Delete(obj Object) error {
	return s.inProcess(obj, func(store *registry.Store, request history.Object) (history.Object, error) {
		return store.Remove(request.GetNamespace(), request.GetName(), request.GetUID())
	})
}

// Objects yields all stored objects, sorted by group, resource, namespace and name: objects of
// client-go's scheme with their Go types, others as [unstructured.Unstructured] in their storage
// version. The yielded objects are shared and must not be modified.
func (s *APIServer) Objects() iter.Seq[Object] {
	return func(yield func(Object) bool) {
		s.registry.Objects()(func(obj history.Object) bool { return yield(obj) })
	}
}

// inProcess calls request with a copy of obj and sets obj to a copy of the result, except for obj's
// kind and apiVersion.
func (s *APIServer) inProcess(obj Object, request func(*registry.Store, history.Object) (history.Object, error)) error {
	store, err := s.registry.ForObject(obj)
	if err != nil {
		return err
	}
	copied, err := as(store.New(), obj)
	if err != nil {
		return err
	}
	if u, ok := copied.(*unstructured.Unstructured); ok {
		setIntegers(u.Object)
	}
	stored, err := request(store, copied)
	if err != nil {
		return err
	}
	result, err := as(obj, stored)
	if err != nil {
		return err
	}
	kind := obj.GetObjectKind().GroupVersionKind()
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(result).Elem())
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return nil
}

// as returns a copy of obj, converted to the Go type of example. It converts between typed and
// unstructured objects.
func as(example, obj Object) (Object, error) {
	if reflect.TypeOf(example) == reflect.TypeOf(obj) {
		return clone(obj), nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("convert %T to %T: %w", obj, example, err)
	}
	if _, ok := example.(*unstructured.Unstructured); ok {
		return &unstructured.Unstructured{Object: runtime.DeepCopyJSON(fields)}, nil
	}
	typed := reflect.New(reflect.TypeOf(example).Elem()).Interface().(Object)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, typed); err != nil {
		return nil, fmt.Errorf("convert %T to %T: %w", obj, example, err)
	}
	return typed, nil
}

// setIntegers replaces the whole numbers among the float64 of a JSON object or array by int64, as
// the decoder of a request returns them. YAML that is decoded into a map has float64 alone.
func setIntegers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			value[key] = setIntegers(field)
		}
	case []any:
		for i, element := range value {
			value[i] = setIntegers(element)
		}
	case float64:
		if value >= math.MinInt64 && value < math.MaxInt64 && value == math.Trunc(value) {
			return int64(value)
		}
	}
	return value
}
