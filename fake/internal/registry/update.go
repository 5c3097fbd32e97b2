// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/fake/internal/defaults"
	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

// Update replaces an object, except for its status if the resource has a status subresource. It
// reports whether the object was created. An update without changes is not written. An update that
// removes the last finalizer of an object that is being deleted removes the object.
func (s *Store) Update(namespace, name string, obj history.Object, mode Mode) (history.Object, bool, error) {
	defer s.lockServed()()
	stored, created, err := s.update(namespace, name, obj, mode, func(next, current history.Object) history.Object {
		if s.HasStatus {
			resource.CopyStatus(next, current)
		}
		keepFinalizers(next, current)
		s.keepDefaults(next, current)
		next.SetGeneration(current.GetGeneration())
		if s.Rules.Generation && s.bumpsGeneration(next, current) {
			next.SetGeneration(current.GetGeneration() + 1)
		}
		return next
	})
	if err == nil && mode != DryRun {
		err = s.settle(name)
	}
	return stored, created, err
}

// bumpsGeneration reports whether an update increments metadata.generation.
func (s *Store) bumpsGeneration(next, current history.Object) bool {
	if s.Rules.GenerationAnnotation && !apiequality.Semantic.DeepEqual(next.GetAnnotations(), current.GetAnnotations()) {
		return true
	}
	if s.Custom && !s.HasStatus { // the status is content like any other
		return !resource.EqualContent(next, current) || !resource.EqualStatus(next, current)
	}
	return !resource.EqualContent(next, current)
}

// UpdateStatus replaces the status of an object and keeps its content. The kind's rules decide
// which metadata it replaces.
func (s *Store) UpdateStatus(namespace, name string, obj history.Object, mode Mode) (history.Object, bool, error) {
	defer s.lockServed()()
	stored, created, err := s.update(namespace, name, obj, mode, func(next, current history.Object) history.Object {
		resource.CopyContent(next, current)
		s.keepDefaults(next, current)
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
	if err == nil && mode != DryRun && s.storesAPIServices() {
		err = s.settle(name)
	}
	return stored, created, err
}

// update checks that obj may replace the current object, and stores the object returned by prepare.
func (s *Store) update(
	namespace, name string, obj history.Object, mode Mode, prepare func(next, current history.Object) history.Object,
) (history.Object, bool, error) {
	if err := s.checkUpdate(namespace, name, obj); err != nil {
		return nil, false, err
	}
	if err := s.conform(obj); err != nil {
		return nil, false, err
	}
	defaults.Set(obj)
	_, removed := s.registry.findNamespace(obj.GetNamespace())
	early := s.recordEarly(obj, prepare)
	var last history.Object // the updated object, if the update removes it
	stored, err := s.apply(history.KeyOf(obj), mode, func(current history.Object) (history.Object, error) {
		if current != nil && removed != nil {
			return nil, removed
		}
		if err := s.checkCurrent(name, current, obj, mode); err != nil {
			return nil, err
		}
		seen := s.Present(current)
		next := prepare(s.edit(obj), seen)
		s.recordUpdate(next, current, seen, early)
		keepIdentity(next, current)
		if err := s.checkNext(next, seen, mode); err != nil {
			return nil, err
		}
		s.ToStored(next)
		if lastFinalizerRemoved(next, current) {
			last = next
			return nil, nil
		}
		if unchanged(next, current) {
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

// lastFinalizerRemoved reports whether an update removes the last finalizer that blocks the
// deletion of an object.
func lastFinalizerRemoved(next, current history.Object) bool {
	grace := current.GetDeletionGracePeriodSeconds()
	return current.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0 && (grace == nil || *grace == 0) && !hasSpecFinalizers(next)
}

// keepIdentity copies the metadata that no client may change. It also copies the resourceVersion,
// so that next and current can be compared.
func keepIdentity(next, current history.Object) {
	next.SetUID(current.GetUID())
	next.SetResourceVersion(current.GetResourceVersion())
	next.SetCreationTimestamp(current.GetCreationTimestamp())
	next.SetDeletionTimestamp(current.GetDeletionTimestamp())
	next.SetDeletionGracePeriodSeconds(current.GetDeletionGracePeriodSeconds())
	next.SetSelfLink("")
}

// checkUpdate returns an error if obj does not match the namespace and name of the request.
func (s *Store) checkUpdate(namespace, name string, obj history.Object) error {
	if err := s.matchNamespace(namespace, obj); err != nil {
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
