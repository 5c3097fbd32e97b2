// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinformer/kinformer/internal/scope"
)

// NamespaceScopes returns the scopes of the namespaces whose labels a selector matches, as they come
// and go:
//
//	namespaces := cache.NewSharedInformer(cache.ListWatchOf(clientset.CoreV1().Namespaces()), &corev1.Namespace{}, options)
//	scopes, err := cache.NamespaceScopes(namespaces, selector)
//
// The informer must list all namespaces, and be run beside those that use the scopes, which sync
// once it has. Its objects may be of any type, such as metav1.PartialObjectMetadata.
//
// A namespace whose labels no longer match is removed, as by Scopes.Remove. The scope of one that was
// deleted is kept until its objects have been deleted, too: handlers receive these deletions, and
// none with Event.LeftScope. Do not change the set by other means.
//
// It returns an error if the informer has stopped or was made of invalid arguments.
func NamespaceScopes[T Object](namespaces *SharedInformer[T], selector labels.Selector) (*Scopes, error) {
	s := &Scopes{}
	if namespaces.core.invalid != nil {
		return nil, namespaces.core.invalid
	}
	registration, err := namespaces.AddEventHandler(EventHandlerFunc[T](func(event Event[T]) {
		obj := event.Object()
		name := scope.Scope{Namespace: obj.GetName()}
		switch {
		case event.Type == EventDelete && !event.LeftScope:
			_ = s.set.Remove(scope.Emptying, name) // a namespace is a valid scope
		case event.Type != EventDelete && selector.Matches(labels.Set(obj.GetLabels())):
			_ = s.set.Add(name) // disjoint from the others
		default:
			_ = s.set.Remove(scope.Removed, name)
		}
	}), HandlerOptions{Name: "namespace scopes"})
	if err != nil {
		return nil, err
	}
	s.set.CompleteAfter(registration.Synced())
	return s, nil
}
