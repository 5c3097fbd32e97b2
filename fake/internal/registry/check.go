// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

// matchNamespace sets the namespace of the request on an object that has none. It returns an error
// for an object with another namespace.
func (s *Store) matchNamespace(namespace string, obj history.Object) error {
	if s.Namespaced && namespace == "" {
		return apierrors.NewBadRequest("an empty namespace may not be set during creation or update")
	}
	if !s.Namespaced && namespace != "" {
		return apierrors.NewBadRequest(fmt.Sprintf("%s are cluster-scoped: metadata.namespace must be empty, not %q", s.GroupResource(), namespace))
	}
	if obj.GetNamespace() == "" {
		obj.SetNamespace(namespace)
	}
	if obj.GetNamespace() != namespace {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// checkNew returns an error if the metadata of a new object is invalid: its name, its labels,
// annotations, finalizers or owner references; or if the object does not match the schema of its
// custom resource.
func (s *Store) checkNew(obj history.Object, mode Mode) error {
	var errs field.ErrorList
	if mode != Trusted {
		errs = apivalidation.ValidateObjectMetaAccessor(obj, s.Namespaced, s.ValidateName, field.NewPath("metadata"))
		errs = s.Validate(obj, nil, false, errs)
	}
	if obj.GetName() == "" && mode == Trusted {
		errs = append(errs, field.Required(field.NewPath("metadata", "name"), "name or generateName is required"))
	}
	if len(errs) > 0 {
		return s.invalid(obj, errs)
	}
	var err error
	switch {
	case s.storesDefinitions():
		_, err = resource.FromDefinition(obj)
	case s.storesAPIServices():
		_, err = resource.FromAPIService(obj)
	}
	if err != nil {
		errs = append(errs, field.Invalid(field.NewPath("spec"), field.OmitValueType{}, err.Error()))
	}
	return s.invalid(obj, errs)
}

// checkNext returns an error if an object may not replace the current one, both in the served
// version: for a change of metadata that the API forbids, such as a new finalizer on an object that
// is being deleted; or if a field is changed and does not match the schema of its custom resource.
func (s *Store) checkNext(next, current history.Object, mode Mode) error {
	if mode == Trusted {
		return nil
	}
	errs := apivalidation.ValidateObjectMetaAccessorUpdate(next, current, field.NewPath("metadata"))
	return s.invalid(next, s.Validate(next, current, s.caller.Subresource == "status", errs))
}

func (s *Store) invalid(obj history.Object, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(s.Stored.GroupKind(), obj.GetName(), errs)
}

// checkCurrent returns an error if an update is based on another object of the same name or on an
// older version. An update without a resourceVersion is unconditional, if the kind's rules allow
// that.
func (s *Store) checkCurrent(name string, current, obj history.Object, mode Mode) error {
	if current == nil {
		return s.notFound(name)
	}
	if uid := obj.GetUID(); uid != "" && uid != current.GetUID() {
		return s.conflict(current, "Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, current.GetUID())
	}
	if version := obj.GetResourceVersion(); version != "" {
		if _, err := strconv.ParseUint(version, 10, 64); err != nil {
			return err // 500, as from the real server
		}
	}
	switch obj.GetResourceVersion() {
	case current.GetResourceVersion():
		return nil
	case "", "0":
		if !s.Rules.NeedsVersion || mode == Trusted {
			return nil
		}
		return apierrors.NewInvalid(schema.GroupKind{Group: s.Group, Kind: s.GroupVersionResource.Resource}, obj.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
		})
	}
	return s.conflict(current, "%w", errModified)
}

// errModified has the exact text of the real server, because some clients compare it.
var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// checkPreconditions returns an error if the preconditions of a delete do not hold for the object.
func (s *Store) checkPreconditions(current history.Object, want *metav1.Preconditions) error {
	if want == nil {
		return nil
	}
	if want.UID != nil && *want.UID != current.GetUID() {
		return s.conflictByKind(current, "the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated",
			*want.UID, current.GetUID())
	}
	if want.ResourceVersion != nil && *want.ResourceVersion != current.GetResourceVersion() {
		return s.conflictByKind(current, "the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified",
			*want.ResourceVersion, current.GetResourceVersion())
	}
	return nil
}

func (s *Store) conflict(obj history.Object, format string, args ...any) error {
	return apierrors.NewConflict(s.GroupResource(), obj.GetName(), fmt.Errorf(format, args...))
}

// conflictByKind is like conflict, but names the kind instead of the resource, as the real server
// does for preconditions of a delete.
func (s *Store) conflictByKind(obj history.Object, format string, args ...any) error {
	return apierrors.NewConflict(schema.GroupResource{Group: s.Group, Resource: s.Kind.Kind}, obj.GetName(), fmt.Errorf(format, args...))
}

func (s *Store) notFound(name string) error {
	return apierrors.NewNotFound(s.GroupResource(), name)
}
