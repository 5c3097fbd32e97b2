package registry

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// checkPlace puts an object without a namespace into that of the request, and refuses one that names another.
func (s *Store) checkPlace(namespace string, obj history.Object) error {
	if s.Namespaced && namespace == "" {
		return apierrors.NewBadRequest("an empty namespace may not be set during creation or update")
	}
	if obj.GetNamespace() == "" {
		obj.SetNamespace(namespace)
	}
	if obj.GetNamespace() != namespace {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// checkName requires a name, or a prefix to make one of, that can be a segment of a path.
func (s *Store) checkName(obj history.Object) error {
	at := field.NewPath("metadata", "name")
	var errs field.ErrorList
	if obj.GetName() == "" && obj.GetGenerateName() == "" {
		errs = append(errs, field.Required(at, "name or generateName is required"))
	}
	for _, problem := range content.IsPathSegmentName(obj.GetName()) {
		errs = append(errs, field.Invalid(at, obj.GetName(), problem))
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(s.Kind.GroupKind(), obj.GetName(), errs)
	}
	return nil
}

// checkCurrent refuses a write that was made for another object of the same name, or for an older version. Empty means: whichever there is.
func (s *Store) checkCurrent(current history.Object, uid types.UID, version string) error {
	if uid != "" && uid != current.GetUID() {
		return s.conflict(current, "Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, current.GetUID())
	}
	if version != "" && version != current.GetResourceVersion() {
		return s.conflict(current, "the object has been modified; please apply your changes to the latest version and try again")
	}
	return nil
}

func (s *Store) conflict(obj history.Object, format string, args ...any) error {
	return apierrors.NewConflict(s.GroupResource(), obj.GetName(), fmt.Errorf(format, args...))
}

func (s *Store) notFound(name string) error {
	return apierrors.NewNotFound(s.GroupResource(), name)
}
