// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/fake/internal/defaults"
	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
	"github.com/kinformer/kinformer/fake/internal/structural"
)

// fieldManagers keep the managedFields of the objects of a resource, with the field managers of
// apimachinery. It is safe for concurrent use.
type fieldManagers struct {
	resource *resource.Resource
	types    func() managedfields.TypeConverter

	mu            sync.Mutex
	bySubresource map[string]*managedfields.FieldManager
}

// builtInTypes returns the types of client-go's scheme. It reads them when they are needed first,
// which takes a tenth of a second.
var builtInTypes = sync.OnceValue(func() managedfields.TypeConverter {
	return applyconfigurations.NewTypeConverter(scheme.Scheme)
})

// customTypes returns the types of the versions of a custom resource. Without a schema, or with one
// that is not structural, they are deduced from the values.
func customTypes(defined *resource.CustomResource) managedfields.TypeConverter {
	versions := map[schema.GroupVersionKind]*structural.Schema{}
	for _, res := range append(slices.Clone(defined.Served), defined.Stored) {
		if res.Schema == nil {
			return managedfields.NewDeducedTypeConverter()
		}
		versions[res.Kind] = res.Schema
	}
	types, err := structural.Types(versions)
	if err != nil {
		return managedfields.NewDeducedTypeConverter()
	}
	return types
}

func newFieldManagers(res *resource.Resource, types func() managedfields.TypeConverter) *fieldManagers {
	return &fieldManagers{resource: res, types: types, bySubresource: map[string]*managedfields.FieldManager{}}
}

// of returns the field manager of the writes of a subresource, or of the object itself if it is
// empty.
func (f *fieldManagers) of(subresource string) (*managedfields.FieldManager, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if manager := f.bySubresource[subresource]; manager != nil {
		return manager, nil
	}
	newManager := managedfields.NewDefaultFieldManager
	if f.resource.Custom {
		newManager = managedfields.NewDefaultCRDFieldManager
	}
	// The fields that a write does not change are reset before, instead of here.
	manager, err := newManager(f.types(), f, f, f, f.resource.Kind, f.resource.Kind.GroupVersion(), subresource, nil)
	if err != nil {
		return nil, fmt.Errorf("create field manager of %s: %w", f.resource.Kind, err)
	}
	f.bySubresource[subresource] = manager
	return manager, nil
}

// update sets the managedFields of an object that is to replace the live one. Without a type for
// the object it has none, as in the real server.
func (f *fieldManagers) update(live, next history.Object, caller Caller) {
	next.GetObjectKind().SetGroupVersionKind(f.resource.Kind)
	manager, err := f.of(caller.Subresource)
	if err == nil {
		_, err = manager.Update(live, next, caller.Manager)
	}
	if err != nil {
		next.SetManagedFields(nil)
	}
}

// apply merges an applied configuration into the live object and returns the result with its
// managedFields.
func (f *fieldManagers) apply(live history.Object, config *unstructured.Unstructured, caller Caller, force bool) (history.Object, error) {
	manager, err := f.of(caller.Subresource)
	if err != nil {
		return nil, err
	}
	merged, err := manager.Apply(live, config, caller.Manager, force)
	if err != nil {
		return nil, err
	}
	return merged.(history.Object), nil
}

// empty returns an object without fields in the served version.
func (f *fieldManagers) empty() history.Object {
	obj := f.resource.New()
	obj.GetObjectKind().SetGroupVersionKind(f.resource.Kind)
	return obj
}

// New implements runtime.ObjectCreater.
func (f *fieldManagers) New(schema.GroupVersionKind) (runtime.Object, error) {
	return f.empty(), nil
}

// Default implements runtime.ObjectDefaulter. Defaults are set when the object is written.
func (f *fieldManagers) Default(runtime.Object) {}

// ConvertToVersion implements runtime.ObjectConvertor. It returns the object itself if it has the
// version and the type already.
func (f *fieldManagers) ConvertToVersion(obj runtime.Object, versioner runtime.GroupVersioner) (runtime.Object, error) {
	from := obj.GetObjectKind().GroupVersionKind()
	want, ok := versioner.KindForGroupVersionKinds([]schema.GroupVersionKind{from})
	u, isUnstructured := obj.(*unstructured.Unstructured)
	switch {
	case ok && want == from && isUnstructured == f.resource.Custom:
		return obj, nil
	case ok && f.resource.Custom:
		converted := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
		converted.SetGroupVersionKind(want)
		return converted, nil
	case ok && isUnstructured && want == f.resource.Kind:
		typed := f.resource.New()
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed); err != nil {
			return nil, fmt.Errorf("convert to %T: %w", typed, err)
		}
		return typed, nil
	}
	return nil, runtime.NewNotRegisteredGVKErrForTarget("registry", from, versioner)
}

// Convert implements runtime.ObjectConvertor. The field managers do not call it.
func (f *fieldManagers) Convert(in, out, _ any) error {
	return fmt.Errorf("convert %T to %T: not supported", in, out)
}

// ConvertFieldLabel implements runtime.ObjectConvertor. The field managers do not call it.
func (f *fieldManagers) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// recordCreate sets the managedFields of a new object. Its status, which create does not write, is
// not in them.
func (s *Store) recordCreate(obj history.Object) {
	if !s.records() {
		return
	}
	written := resource.Copy(obj)
	defaults.Set(written)
	if s.HasStatus {
		resource.CopyStatus(written, nil)
	}
	s.fields.update(s.fields.empty(), written, s.caller)
	obj.SetManagedFields(written.GetManagedFields())
}

// recorded is the result of merging managedFields with one state of an object.
type recorded struct {
	current history.Object
	fields  []metav1.ManagedFieldsEntry
}

// recordEarly returns the managedFields of an object that is to replace the current one, which
// prepare completes. The merge takes up to milliseconds, too long for the memory's lock; see
// recordUpdate.
func (s *Store) recordEarly(obj history.Object, prepare func(next, current history.Object) history.Object) recorded {
	current, ok := s.objects.Get(history.KeyOf(obj))
	if version := obj.GetResourceVersion(); !s.records() || !ok || version != "" && version != current.GetResourceVersion() {
		return recorded{}
	}
	seen := s.Present(current)
	next := prepare(deepCopy(obj), seen)
	s.fields.update(seen, next, s.caller)
	return recorded{current: current, fields: next.GetManagedFields()}
}

// recordUpdate sets the managedFields of an object that is to replace the current one, seen in the
// served version: those of early, unless the object has been replaced since. Without a manager it
// keeps the current ones unless the object has some.
func (s *Store) recordUpdate(next, current, seen history.Object, early recorded) {
	switch {
	case s.caller.applied:
	case !s.records():
		if len(next.GetManagedFields()) == 0 {
			next.SetManagedFields(current.GetManagedFields())
		}
	case early.current == current:
		next.SetManagedFields(early.fields)
	default:
		s.fields.update(seen, next, s.caller)
	}
}

// records reports whether writes set managedFields.
func (s *Store) records() bool {
	return s.caller.Manager != "" && !s.caller.applied
}

// unchanged reports whether an update changes nothing, or only the times of managedFields.
func unchanged(next, current history.Object) bool {
	if apiequality.Semantic.DeepEqual(current, next) {
		return true
	}
	fields, before := next.GetManagedFields(), current.GetManagedFields()
	if len(fields) == 0 || len(fields) != len(before) {
		return false
	}
	for i := range fields {
		if fields[i].Manager != before[i].Manager || !apiequality.Semantic.DeepEqual(fields[i].FieldsV1, before[i].FieldsV1) {
			return false
		}
	}
	timed := resource.Copy(next)
	timed.SetManagedFields(before)
	return apiequality.Semantic.DeepEqual(current, timed)
}
