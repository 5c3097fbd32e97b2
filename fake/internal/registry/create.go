package registry

import (
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
	// nameAttempts is how often a generated name is tried, as in the real server.
	nameAttempts = 8
	// generatedSuffix is how many letters are added to a prefix, and longestPrefix how much is kept of it.
	generatedSuffix = 5
	longestPrefix   = 63 - generatedSuffix
)

// Create stores a new object.
func (s *Store) Create(namespace string, obj history.Object, mode Mode) (history.Object, error) {
	if err := s.checkPlace(namespace, obj); err != nil {
		return nil, err
	}
	if obj.GetResourceVersion() != "" {
		return nil, errVersionSet
	}
	if err := s.checkNamespace(obj); err != nil {
		return nil, err
	}
	generate := obj.GetName() == "" && obj.GetGenerateName() != ""
	for attempt := 1; ; attempt++ {
		if generate {
			prefix := obj.GetGenerateName()
			obj.SetName(prefix[:min(len(prefix), longestPrefix)] + utilrand.String(generatedSuffix))
		}
		stored, err := s.create(obj, mode)
		switch {
		case err == nil:
			return s.afterCreate(stored, mode)
		case !generate || !apierrors.IsAlreadyExists(err):
			return nil, err
		case attempt == nameAttempts:
			return nil, apierrors.NewGenerateNameConflict(s.GroupResource(), obj.GetName(), 1)
		}
	}
}

// errVersionSet becomes a 500, as in the real server.
var errVersionSet = errors.New("resourceVersion should not be set on objects to be created")

func (s *Store) create(obj history.Object, mode Mode) (history.Object, error) {
	s.initialise(obj)
	if err := s.checkNew(obj, mode); err != nil {
		return nil, err
	}
	return s.apply(history.KeyOf(obj), mode, func(current history.Object) (history.Object, error) {
		if current != nil {
			return nil, s.exists(current)
		}
		return obj, nil
	})
}

func (s *Store) exists(current history.Object) error {
	err := apierrors.NewAlreadyExists(s.GroupResource(), current.GetName())
	if current.GetDeletionTimestamp() != nil {
		err.ErrStatus.Message = fmt.Sprintf("object is being deleted: %s", err.ErrStatus.Message)
	}
	return err
}

// initialise gives an object what the server decides.
func (s *Store) initialise(obj history.Object) {
	obj.GetObjectKind().SetGroupVersionKind(s.Stored)
	obj.SetUID(s.memory.NewUID())
	obj.SetCreationTimestamp(now())
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
	if s.Rules.Generation {
		obj.SetGeneration(1)
	}
	if s.HasStatus && !s.Rules.KeepsStatus {
		resource.TakeStatus(obj, nil)
	}
	s.beginLife(obj)
}

// beginLife sets what a few kinds begin with.
func (s *Store) beginLife(obj history.Object) {
	switch obj := obj.(type) {
	case *corev1.Pod:
		obj.Status.Phase = corev1.PodPending
	case *corev1.PersistentVolume:
		obj.Status.Phase = corev1.VolumePending
	case *corev1.PersistentVolumeClaim:
		obj.Status.Phase = corev1.ClaimPending
	case *corev1.Namespace:
		beginNamespace(obj)
	}
}

// afterCreate does what follows from a new object.
func (s *Store) afterCreate(stored history.Object, mode Mode) (history.Object, error) {
	if s.isDefinitions() && mode != DryRun {
		if err := s.registry.define(stored); err != nil {
			return nil, err
		}
	}
	return s.Present(stored), nil
}

// now is the time as the API tells it, in seconds.
func now() metav1.Time {
	return metav1.Unix(time.Now().Unix(), 0)
}

// copyOf returns an object that shares nothing with a stored one.
func copyOf(obj history.Object) history.Object {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.DeepCopy()
	}
	return obj.DeepCopyObject().(history.Object)
}
