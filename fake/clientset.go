// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// Clientset is a fake clientset of client-go, or one made by code-generator.
type Clientset interface {
	PrependReactor(verb, resource string, reaction clienttesting.ReactionFunc)
	PrependWatchReactor(resource string, reaction clienttesting.WatchReactionFunc)
}

// Serve makes a fake clientset answer the requests for a resource from lw. The code under test may
// then write through the clientset and read through informers, with the resourceVersions and faults
// of lw:
//
//	client := clientset.NewClientset()
//	pods := fake.NewListerWatcher(&corev1.Pod{})
//	pods.Serve(client, "pods")
//
// Objects that the clientset was made with are not in lw. An update with another resourceVersion
// than the stored one is a conflict; one without a resourceVersion is not. An update without
// managedFields keeps the stored ones. A write of a subresource writes the whole object, unless the
// subresource is of another type, such as Binding, Eviction or Scale: then it writes nothing. A
// deletecollection has no effect and no error. Server-side apply is an error.
func (lw *ListerWatcher[T]) Serve(client Clientset, resource string) {
	objects := tracker[T]{lw}
	client.PrependReactor("*", resource, clienttesting.ObjectReaction(objects))
	client.PrependWatchReactor(resource, func(action clienttesting.Action) (bool, watch.Interface, error) {
		options := metav1.ListOptions{}
		if request, ok := action.(clienttesting.WatchActionImpl); ok {
			options = request.ListOptions
		}
		stream, err := objects.Watch(action.GetResource(), action.GetNamespace(), options)
		return true, stream, err
	})
}

// tracker is a ListerWatcher as the store of a fake clientset.
type tracker[T Object] struct{ lw *ListerWatcher[T] }

var _ clienttesting.ObjectTracker = tracker[Object]{}

var errApply = errors.New("fake.ListerWatcher does not support server-side apply")

// selectNamespace returns the options of a request, which has none or one, that selects the objects
// of a namespace only.
func selectNamespace(namespace string, options []metav1.ListOptions) (selected metav1.ListOptions) {
	if len(options) > 0 {
		selected = options[0]
	}
	if namespace == "" {
		return selected
	}
	if selected.FieldSelector != "" {
		selected.FieldSelector += ","
	}
	selected.FieldSelector += fields.OneTermEqualSelector("metadata.namespace", namespace).String()
	return selected
}

func keyOf(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// Add implements clienttesting.ObjectTracker.
func (t tracker[T]) Add(obj runtime.Object) error {
	return t.Create(schema.GroupVersionResource{}, obj, "")
}

// Get implements clienttesting.ObjectTracker.
func (t tracker[T]) Get(gvr schema.GroupVersionResource, namespace, name string, _ ...metav1.GetOptions) (runtime.Object, error) {
	obj, ok := t.lw.Get(keyOf(namespace, name))
	if !ok {
		return nil, apierrors.NewNotFound(gvr.GroupResource(), name)
	}
	return obj, nil
}

// typed returns an object of the collection's type in a namespace.
func (t tracker[T]) typed(obj runtime.Object, namespace string) (T, error) {
	typed, ok := obj.(T)
	if !ok {
		return typed, fmt.Errorf("fake.ListerWatcher: expected %T, got %T", typed, obj)
	}
	typed = clone(typed)
	if typed.GetNamespace() == "" {
		typed.SetNamespace(namespace)
	}
	return typed, nil
}

// Create implements clienttesting.ObjectTracker.
func (t tracker[T]) Create(gvr schema.GroupVersionResource, obj runtime.Object, namespace string, _ ...metav1.CreateOptions) error {
	created, err := t.typed(obj, namespace)
	if err != nil {
		return err
	}
	t.lw.setMetadata(created)
	if named, ok := obj.(T); ok { // the clientset gets the object by its name afterwards
		named.SetName(created.GetName())
	}
	return t.apply(created.GetNamespace(), created.GetName(), func(current history.Object) (history.Object, error) {
		if current != nil {
			return nil, apierrors.NewAlreadyExists(gvr.GroupResource(), created.GetName())
		}
		return created, nil
	})
}

var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// Update implements clienttesting.ObjectTracker.
func (t tracker[T]) Update(gvr schema.GroupVersionResource, obj runtime.Object, namespace string, _ ...metav1.UpdateOptions) error {
	updated, err := t.typed(obj, namespace)
	if err != nil {
		return err
	}
	return t.apply(updated.GetNamespace(), updated.GetName(), func(current history.Object) (history.Object, error) {
		if current == nil {
			return nil, apierrors.NewNotFound(gvr.GroupResource(), updated.GetName())
		}
		if version := updated.GetResourceVersion(); version != "" && version != current.GetResourceVersion() {
			return nil, apierrors.NewConflict(gvr.GroupResource(), updated.GetName(), errModified)
		}
		updated.SetUID(current.GetUID())
		updated.SetCreationTimestamp(current.GetCreationTimestamp())
		if len(updated.GetManagedFields()) == 0 {
			updated.SetManagedFields(current.GetManagedFields())
		}
		return updated, nil
	})
}

// Patch implements clienttesting.ObjectTracker. The clientset passes the patched object.
func (t tracker[T]) Patch(gvr schema.GroupVersionResource, obj runtime.Object, namespace string, _ ...metav1.PatchOptions) error {
	return t.Update(gvr, obj, namespace)
}

// Apply implements clienttesting.ObjectTracker. It returns an error.
func (t tracker[T]) Apply(schema.GroupVersionResource, runtime.Object, string, ...metav1.PatchOptions) error {
	return errApply
}

// List implements clienttesting.ObjectTracker.
func (t tracker[T]) List(_ schema.GroupVersionResource, _ schema.GroupVersionKind, namespace string, options ...metav1.ListOptions) (runtime.Object, error) {
	return t.lw.List(context.Background(), selectNamespace(namespace, options))
}

// Delete implements clienttesting.ObjectTracker.
func (t tracker[T]) Delete(gvr schema.GroupVersionResource, namespace, name string, options ...metav1.DeleteOptions) error {
	return t.apply(namespace, name, func(current history.Object) (history.Object, error) {
		if current == nil {
			return nil, apierrors.NewNotFound(gvr.GroupResource(), name)
		}
		for _, o := range options {
			if p := o.Preconditions; p != nil && p.UID != nil && *p.UID != current.GetUID() {
				return nil, apierrors.NewConflict(gvr.GroupResource(), name, errModified)
			}
		}
		return nil, nil
	})
}

// Watch implements clienttesting.ObjectTracker.
func (t tracker[T]) Watch(_ schema.GroupVersionResource, namespace string, options ...metav1.ListOptions) (watch.Interface, error) {
	return t.lw.Watch(context.Background(), selectNamespace(namespace, options))
}

// apply writes a change and delivers its event to the watches.
func (t tracker[T]) apply(namespace, name string, change func(history.Object) (history.Object, error)) error {
	if _, err := t.lw.objects.Apply(keyOf(namespace, name), change); err != nil {
		return err
	}
	t.lw.deliver()
	return nil
}
