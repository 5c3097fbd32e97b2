package registry

import (
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// The methods below return stored objects, which are shared and read only. Objects that are passed in belong to the store afterwards.

// nameAttempts is how often a generated name is tried, as in the real server.
const nameAttempts = 8

// Get returns one object.
func (s *Store) Get(namespace, name string) (history.Object, error) {
	obj, ok := s.objects.Get(history.Key(namespace, name))
	if !ok {
		return nil, s.notFound(name)
	}
	return obj, nil
}

// Create stores a new object.
func (s *Store) Create(namespace string, obj history.Object) (history.Object, error) {
	if err := s.checkPlace(namespace, obj); err != nil {
		return nil, err
	}
	if obj.GetResourceVersion() != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	if err := s.checkName(obj); err != nil {
		return nil, err
	}
	s.initialise(obj)
	if obj.GetName() != "" {
		return s.create(obj)
	}
	for range nameAttempts - 1 {
		obj.SetName(obj.GetGenerateName() + utilrand.String(5))
		if stored, err := s.create(obj); !apierrors.IsAlreadyExists(err) {
			return stored, err
		}
	}
	return nil, apierrors.NewGenerateNameConflict(s.GroupResource(), obj.GetName(), 1)
}

// initialise gives an object what the server decides.
func (s *Store) initialise(obj history.Object) {
	obj.GetObjectKind().SetGroupVersionKind(s.Kind)
	obj.SetUID(s.memory.NewUID())
	obj.SetCreationTimestamp(metav1.Unix(time.Now().Unix(), 0))
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
	if pod, ok := obj.(*corev1.Pod); ok && pod.Status.Phase == "" {
		pod.Status.Phase = corev1.PodPending
	}
}

func (s *Store) create(obj history.Object) (history.Object, error) {
	return s.objects.Apply(history.KeyOf(obj), func(current history.Object) (history.Object, error) {
		if current != nil {
			return nil, apierrors.NewAlreadyExists(s.GroupResource(), obj.GetName())
		}
		return obj, nil
	})
}

// Update replaces an object, but for its status where that is a subresource. An update that changes nothing writes nothing.
func (s *Store) Update(namespace, name string, obj history.Object) (history.Object, error) {
	return s.update(namespace, name, obj, func(current history.Object) history.Object {
		if s.HasStatus {
			s.Status(obj).Set(s.Status(current)) // two stored objects may share parts: neither ever changes
		}
		return obj
	})
}

// UpdateStatus replaces the status of an object and nothing else.
func (s *Store) UpdateStatus(namespace, name string, obj history.Object) (history.Object, error) {
	return s.update(namespace, name, obj, func(current history.Object) history.Object {
		next := s.New()
		reflect.ValueOf(next).Elem().Set(reflect.ValueOf(current).Elem())
		s.Status(next).Set(s.Status(obj))
		return next
	})
}

// update checks that obj may replace the current object, and stores what merge makes of the two.
func (s *Store) update(namespace, name string, obj history.Object, merge func(current history.Object) history.Object) (history.Object, error) {
	if err := s.checkPlace(namespace, obj); err != nil {
		return nil, err
	}
	if obj.GetName() != name {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), name))
	}
	return s.objects.Apply(history.KeyOf(obj), func(current history.Object) (history.Object, error) {
		if current == nil {
			return nil, s.notFound(name)
		}
		if err := s.checkCurrent(current, obj.GetUID(), obj.GetResourceVersion()); err != nil {
			return nil, err
		}
		next := merge(current)
		keepIdentity(next, current)
		if apiequality.Semantic.DeepEqual(current, next) {
			return current, nil
		}
		return next, nil
	})
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

// Delete removes an object and returns its last content with the version of the delete.
func (s *Store) Delete(namespace, name string, opts *metav1.DeleteOptions) (history.Object, error) {
	return s.objects.Apply(history.Key(namespace, name), func(current history.Object) (history.Object, error) {
		if current == nil {
			return nil, s.notFound(name)
		}
		return nil, s.checkPreconditions(current, opts.Preconditions)
	})
}

func (s *Store) checkPreconditions(current history.Object, want *metav1.Preconditions) error {
	if want == nil {
		return nil
	}
	if want.UID != nil && *want.UID != current.GetUID() {
		return s.conflict(current, "Precondition failed: UID in precondition: %v, UID in object meta: %v", *want.UID, current.GetUID())
	}
	if want.ResourceVersion != nil && *want.ResourceVersion != current.GetResourceVersion() {
		return s.conflict(current, "Precondition failed: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v",
			*want.ResourceVersion, current.GetResourceVersion())
	}
	return nil
}
