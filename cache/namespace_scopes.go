// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinformer/kinformer/internal/scope"
)

// NamespaceScopes returns a set with a scope for each namespace whose labels a selector matches. It
// changes as namespaces are created, relabelled and deleted:
//
//	all := cache.ListWatchOf(clientset.CoreV1().Namespaces())
//	namespaces := cache.NewSharedInformer(all, &corev1.Namespace{}, options)
//	scopes, err := cache.NamespaceScopes(namespaces, selector)
//
// The informer of Namespaces must list all namespaces. Its objects may be of any type, such as
// metav1.PartialObjectMetadata. The program must run it beside the informers that use the scopes.
// Until the informer of Namespaces has synced, informers with these scopes do not sync, and their
// waits, Status and health checks return the reason, for example that the program has no permission
// to list Namespaces.
//
// The scope of a namespace whose labels no longer match is removed, as by Scopes.Remove. The scope
// of a deleted namespace is kept until its objects have been deleted, too, or the server refuses to
// list them, for example because a RoleBinding of the namespace was deleted first. Handlers receive
// the deletions of its objects without Event.LeftScope.
//
// Add, Remove and Set of the set return an error: its scopes follow the labels alone. To select
// some namespaces by name, too, pass a labels.Selector of the program's own that also accepts
// values of the label kubernetes.io/metadata.name, which the server sets; docs/scopes.md has one.
//
// A handler of the informer of Namespaces updates the set, for as long as that informer runs. A
// program that needs the set for a shorter time should run another informer of Namespaces for it.
//
// It returns an error if the informer has stopped or was made of invalid arguments.
func NamespaceScopes[T Object](namespaces *SharedInformer[T], selector labels.Selector) (*Scopes, error) {
	s := &Scopes{byNamespaces: true}
	registration, err := namespaces.AddEventHandler(EventHandlerFunc[T](func(event Event[T]) {
		obj := event.Object()
		name := scope.Scope{Namespace: obj.GetName()}
		switch {
		case event.Type == EventDelete && !event.LeftScope:
			_ = s.internalSet().Remove(scope.Emptying, name) // a namespace is a valid scope
		case event.Type != EventDelete && selector.Matches(labels.Set(obj.GetLabels())):
			_ = s.internalSet().Add(name) // disjoint from the others
		default:
			_ = s.internalSet().Remove(scope.Removed, name)
		}
	}), HandlerOptions{Name: "namespace scopes"})
	if err != nil {
		return nil, err
	}
	s.internalSet().CompleteAfter(registration.Synced(), func() (since time.Time, err error) {
		status := namespaces.Status()
		return status.ErrSince, fmt.Errorf("%w: %w", errNamespacesUnknown, cmp.Or(status.unhealthy(status.Freshness.FreshAt, HealthOptions{}), errNotDelivered))
	})
	return s, nil
}

var (
	errNamespacesUnknown = errors.New("the namespaces of the scopes are not known")
	errNotDelivered      = errors.New("their initial list has not been delivered")
)
