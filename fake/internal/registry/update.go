package registry

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

// Update replaces an object, but for its status where that is a subresource, and tells whether it was created. An update that changes nothing
// writes nothing; one that removes the last finalizer of an object that is being deleted deletes it.
func (s *Store) Update(namespace, name string, obj history.Object, mode Mode) (history.Object, bool, error) {
	stored, created, err := s.update(namespace, name, obj, mode, func(next, current history.Object) history.Object {
		if s.HasStatus {
			resource.TakeStatus(next, current)
		}
		keepFinalizers(next, current)
		next.SetGeneration(current.GetGeneration())
		if s.Rules.Generation && s.counts(next, current) {
			next.SetGeneration(current.GetGeneration() + 1)
		}
		return next
	})
	if err == nil && s.isDefinitions() && mode != DryRun {
		err = s.registry.define(stored)
	}
	return stored, created, err
}

// counts tells whether a change is one that generations count.
func (s *Store) counts(next, current history.Object) bool {
	if s.Rules.GenerationAnnotation && !apiequality.Semantic.DeepEqual(next.GetAnnotations(), current.GetAnnotations()) {
		return true
	}
	if s.Custom && !s.HasStatus { // the status is content like any other
		return !resource.SameContent(next, current) || !resource.SameStatus(next, current)
	}
	return !resource.SameContent(next, current)
}

// UpdateStatus replaces the status of an object and none of its content. Metadata is written or kept as the kind's rules say.
func (s *Store) UpdateStatus(namespace, name string, obj history.Object, mode Mode) (history.Object, bool, error) {
	return s.update(namespace, name, obj, mode, func(next, current history.Object) history.Object {
		resource.TakeContent(next, current)
		next.SetGeneration(current.GetGeneration())
		if s.Rules.StatusKeepsMetadata || s.Rules.StatusKeepsLabels {
			next.SetLabels(current.GetLabels())
		}
		if s.Rules.StatusKeepsMetadata {
			next.SetAnnotations(current.GetAnnotations())
			next.SetFinalizers(current.GetFinalizers())
		}
		if _, isPod := next.(*corev1.Pod); isPod || s.Rules.StatusKeepsMetadata {
			next.SetOwnerReferences(current.GetOwnerReferences())
		}
		return next
	})
}

// update checks that obj may replace the current object, and stores what prepare makes of the two.
func (s *Store) update(namespace, name string, obj history.Object, mode Mode, prepare func(next, current history.Object) history.Object) (history.Object, bool, error) {
	if err := s.checkUpdate(namespace, name, obj); err != nil {
		return nil, false, err
	}
	obj.GetObjectKind().SetGroupVersionKind(s.Stored)
	var last history.Object // if it is deleted: what it would have been
	stored, err := s.apply(history.KeyOf(obj), mode, func(current history.Object) (history.Object, error) {
		if err := s.checkCurrent(name, current, obj, mode); err != nil {
			return nil, err
		}
		next := prepare(obj, current)
		keepIdentity(next, current)
		nameLabel(next)
		if err := s.checkChange(next, current, mode); err != nil {
			return nil, err
		}
		if released(next, current) {
			last = next
			return nil, nil
		}
		if apiequality.Semantic.DeepEqual(current, next) {
			return current, nil
		}
		return next, nil
	})
	if last != nil && err == nil {
		stored = last
	}
	if apierrors.IsNotFound(err) && s.Rules.CreateOnUpdate && obj.GetUID() == "" {
		obj.SetResourceVersion("")
		stored, err = s.Create(namespace, obj, mode)
		return stored, true, err
	}
	if err != nil {
		return nil, false, err
	}
	return s.Present(stored), false, nil
}

// released tells whether an update lets go of an object that was only waiting for its finalizers.
func released(next, current history.Object) bool {
	grace := current.GetDeletionGracePeriodSeconds()
	return current.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0 && (grace == nil || *grace == 0) && !held(next)
}

// keepIdentity carries over what no client may change. The resourceVersion is carried over too, so that objects can be compared.
func keepIdentity(next, current history.Object) {
	next.GetObjectKind().SetGroupVersionKind(current.GetObjectKind().GroupVersionKind())
	next.SetUID(current.GetUID())
	next.SetResourceVersion(current.GetResourceVersion())
	next.SetCreationTimestamp(current.GetCreationTimestamp())
	next.SetDeletionTimestamp(current.GetDeletionTimestamp())
	next.SetDeletionGracePeriodSeconds(current.GetDeletionGracePeriodSeconds())
	next.SetSelfLink("")
}

// checkUpdate checks what can be checked without the current object.
func (s *Store) checkUpdate(namespace, name string, obj history.Object) error {
	if err := s.checkPlace(namespace, obj); err != nil {
		return err
	}
	if obj.GetName() == "" {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", name))
	}
	if obj.GetName() != name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), name))
	}
	return nil
}
