// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

const (
	// nameAttempts is the maximum number of generated names to try, as in the real server.
	nameAttempts = 8
	// suffixLength and maxPrefixLength are the lengths of the parts of a generated name.
	suffixLength    = 5
	maxPrefixLength = 63 - suffixLength
)

// Create stores a new object and returns it.
func (s *Store) Create(namespace string, obj history.Object, mode Mode) (history.Object, error) {
	if err := s.matchNamespace(namespace, obj); err != nil {
		return nil, err
	}
	if err := s.conform(obj); err != nil {
		return nil, err
	}
	if err := s.checkNamespaceActive(obj.GetNamespace(), cmp.Or(obj.GetName(), obj.GetGenerateName())); err != nil {
		return nil, err
	}
	if obj.GetResourceVersion() != "" {
		return nil, errVersionSet
	}
	defer s.lockServed()()
	generate := obj.GetName() == "" && obj.GetGenerateName() != ""
	for attempt := 1; ; attempt++ {
		next := obj
		if generate {
			next = deepCopy(obj) // some defaults have the name
			prefix := obj.GetGenerateName()
			next.SetName(prefix[:min(len(prefix), maxPrefixLength)] + utilrand.String(suffixLength))
		}
		stored, err := s.create(next, mode)
		switch {
		case err == nil:
			return s.afterCreate(stored, mode)
		case !generate || !apierrors.IsAlreadyExists(err):
			return nil, err
		case attempt == nameAttempts:
			return nil, apierrors.NewGenerateNameConflict(s.GroupResource(), next.GetName(), 1)
		}
	}
}

// errVersionSet becomes a 500, as in the real server.
var errVersionSet = errors.New("resourceVersion should not be set on objects to be created")

var errTerminating = errors.New("create not allowed while custom resource definition is terminating")

func (s *Store) create(obj history.Object, mode Mode) (history.Object, error) {
	s.recordCreate(obj)
	obj = s.edit(obj)
	s.setServerFields(obj)
	if err := s.checkNew(obj, mode); err != nil {
		return nil, err
	}
	s.ToStored(obj)
	stored, err := s.apply(history.KeyOf(obj), mode, func(current history.Object) (history.Object, error) {
		if current != nil {
			return nil, s.alreadyExists(current)
		}
		if s.Terminating() {
			return nil, apierrors.NewForbidden(s.GroupResource(), obj.GetName(), errTerminating)
		}
		return obj, nil
	})
	if err == nil && s.storesNamespaces() && mode != DryRun {
		s.registry.namespaces.Store(obj.GetName(), nil) // after it exists: otherwise it would look removed
	}
	return stored, err
}

func (s *Store) alreadyExists(current history.Object) error {
	err := apierrors.NewAlreadyExists(s.GroupResource(), current.GetName())
	if current.GetDeletionTimestamp() != nil {
		err.ErrStatus.Message = fmt.Sprintf("object is being deleted: %s", err.ErrStatus.Message)
	}
	return err
}

// setServerFields sets the fields of a new object that the server assigns.
func (s *Store) setServerFields(obj history.Object) {
	setNameLabel(obj) // of a generated name
	obj.SetUID(s.memory.NewUID())
	obj.SetCreationTimestamp(now())
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
	if s.Rules.Generation {
		obj.SetGeneration(1)
	}
	if s.HasStatus && !s.Rules.KeepsStatus {
		resource.CopyStatus(obj, nil)
	}
	s.setInitialStatus(obj)
	s.setNewDefaults(obj)
}

// setInitialStatus sets the initial status of the kinds that have one, except Pods, which have a
// default.
func (s *Store) setInitialStatus(obj history.Object) {
	switch obj := obj.(type) {
	case *corev1.PersistentVolume:
		obj.Status.Phase, obj.Status.LastPhaseTransitionTime = corev1.VolumePending, new(now())
	case *corev1.PersistentVolumeClaim:
		obj.Status.Phase = corev1.ClaimPending
	case *corev1.Namespace:
		initNamespace(obj)
	}
}

// afterCreate starts serving the resource of a new CustomResourceDefinition. It returns the object
// to answer with.
func (s *Store) afterCreate(stored history.Object, mode Mode) (history.Object, error) {
	if mode != DryRun {
		if err := s.settle(stored.GetName()); err != nil {
			return nil, err
		}
	}
	return s.Present(stored), nil
}

// now returns the current time with the API's precision of one second.
func now() metav1.Time {
	return metav1.Unix(time.Now().Unix(), 0)
}

// deepCopy returns a deep copy of a stored object.
func deepCopy(obj history.Object) history.Object {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.DeepCopy()
	}
	return obj.DeepCopyObject().(history.Object)
}
