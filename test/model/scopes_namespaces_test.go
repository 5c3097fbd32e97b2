// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// scopedNamespaces are the namespaces of a scopedExecution, of which a label selects some.
type scopedNamespaces struct {
	server   *fake.ListerWatcher[*corev1.Namespace]
	informer *cache.SharedInformer[*corev1.Namespace]
	selected []cache.Scope // the scopes of the namespaces that are selected, in no order
	stopped  chan error
}

// startNamespaces creates all namespaces, those of the scopes of the start with the label, and runs
// an informer of them, which determines the scopes.
func (x *scopedExecution) startNamespaces(ctx context.Context, t *testing.T) {
	t.Helper()
	n := &scopedNamespaces{server: fake.NewListerWatcher(&corev1.Namespace{}), stopped: make(chan error, 1)}
	n.informer = cache.NewSharedInformer(cache.ListerWatcher(n.server), &corev1.Namespace{}, cache.InformerOptions[*corev1.Namespace]{Logger: logr.Discard()})
	scopes, err := cache.NamespaceScopes(n.informer, labels.SelectorFromSet(labels.Set{"team": "blue"}))
	if err != nil {
		t.Fatal(err)
	}
	x.namespaces, x.scopes, x.world.namespaces = n, scopes, make(map[string]bool)
	for i, scope := range scopeFamilies()[selectedNamespaces] {
		op := opIgnoreNamespace
		if slices.Contains(x.program.Start, i) {
			op = opSelectNamespace
		}
		x.changeNamespace(scopedStep{Op: op, Key: scope.Namespace})
	}
	go func() { n.stopped <- n.informer.Run(ctx) }()
}

// changeNamespace creates, relabels or deletes a namespace. Its objects are deleted before it.
func (x *scopedExecution) changeNamespace(s scopedStep) {
	n, exists := x.namespaces, x.world.namespaces[s.Key]
	if s.Op == opDeleteNamespace {
		for key := range x.world.now() {
			if strings.HasPrefix(key, s.Key+"/") {
				x.world.remove(key)
			}
		}
	}
	scope := cache.Scope{Namespace: s.Key}
	x.mu.Lock()
	defer x.mu.Unlock()
	n.selected = slices.DeleteFunc(n.selected, func(other cache.Scope) bool { return other == scope })
	switch s.Op {
	case opSelectNamespace:
		n.selected = append(n.selected, scope)
	case opIgnoreNamespace:
		x.removed = append(x.removed, scope)
	}
	if s.Op != opSelectNamespace {
		x.change(scope)
	}
	x.covers = append(x.covers, slices.Clone(n.selected))
	x.world.namespaces[s.Key] = s.Op != opDeleteNamespace
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Key, Labels: map[string]string{"team": "red"}}}
	if s.Op == opSelectNamespace {
		namespace.Labels["team"] = "blue"
	}
	switch {
	case s.Op != opDeleteNamespace && exists:
		n.server.Update(namespace)
	case s.Op != opDeleteNamespace:
		n.server.Create(namespace)
	case exists:
		n.server.Delete(s.Key)
	}
}

// misses returns how the set of scopes differs from that of the selected namespaces, or "".
func (x *scopedExecution) misses() string {
	if x.namespaces == nil {
		return ""
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	held, selected := x.scopes.All(), x.namespaces.selected
	if len(held) != len(selected) || slices.ContainsFunc(held, func(scope cache.Scope) bool { return !slices.Contains(selected, scope) }) {
		return "the scopes are those of other namespaces"
	}
	return ""
}
