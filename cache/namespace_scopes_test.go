// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

func namespace(name string, team string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
}

// namespaceScopes returns a server of Namespaces, an informer of them, and their scopes.
func namespaceScopes(t *testing.T, selector labels.Selector) (*fake.ListerWatcher[*corev1.Namespace], *cache.SharedInformer[*corev1.Namespace], *cache.Scopes) {
	t.Helper()
	server := fake.NewListerWatcher(&corev1.Namespace{})
	informer := cache.NewSharedInformer(server, &corev1.Namespace{}, cache.InformerOptions[*corev1.Namespace]{})
	scopes, err := cache.NamespaceScopes(informer, selector)
	if err != nil {
		t.Fatal(err)
	}
	return server, informer, scopes
}

// blue selects the Namespaces of a team.
var blue = labels.SelectorFromSet(labels.Set{"team": "blue"})

func TestScopesOfSelectedNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, namespaces, scopes := namespaceScopes(t, blue)
		server.Create(namespace("a", "blue"))
		server.Create(namespace("b", "red"))
		i := newScopedInformer(t, scopes)
		i.server.Create(configMap("a/1"))
		i.server.Create(configMap("b/1"))
		start(t, i, namespaces)
		if err := i.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		i.expect("Add a/1 initial")

		server.Update(namespace("b", "blue"))
		i.expect("Add b/1 initial")
		server.Update(namespace("a", "red"))
		i.expect("Delete a/1 left")

		server.Delete("b") // the watch of the ConfigMaps is behind
		i.expect()
		i.expectStored("b/1")
		i.server.Delete("b/1")
		i.expect("Delete b/1")
		if all := i.ScopeStatus(); len(all) != 0 {
			t.Errorf("scopes are held: %v", all)
		}
		i.server.Create(configMap("b/2"))
		<-time.After(time.Minute)
		i.expect()
	})
}

// orNamed is the selector of docs/scopes.md.
type orNamed struct {
	labels.Selector

	names []string
}

func (s orNamed) Matches(of labels.Labels) bool {
	return slices.Contains(s.names, of.Get(corev1.LabelMetadataName)) || s.Selector.Matches(of)
}

// A list of names beside the label: namespace b is in the list, and is created later.
func TestScopesOfSelectedAndNamedNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, namespaces, scopes := namespaceScopes(t, orNamed{blue, []string{"b"}})
		server.Create(namespace("a", "blue"))
		if err := scopes.Add(cache.Scope{Namespace: "b"}); err == nil {
			t.Error("a scope was added")
		}
		i := newScopedInformer(t, scopes)
		for _, key := range []string{"a/1", "b/1", "c/1"} {
			i.server.Create(configMap(key))
		}
		start(t, i, namespaces)
		i.expect("Add a/1 initial")

		for _, name := range []string{"b", "c"} {
			created := namespace(name, "red")
			created.Labels[corev1.LabelMetadataName] = name // as the server sets it
			server.Create(created)
		}
		i.expect("Add b/1 initial")
		changed := namespace("b", "blue")
		changed.Labels[corev1.LabelMetadataName] = "b"
		server.Update(changed)
		changed.Labels["team"] = "red"
		server.Update(changed)
		i.expect()
	})
}

// A namespace that is deleted and recreated without the label, while an object of it is left.
func TestScopeOfARecreatedNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, namespaces, scopes := namespaceScopes(t, blue)
		i := newScopedInformer(t, scopes)
		start(t, i, namespaces)
		for range 3 {
			server.Create(namespace("a", "blue"))
			i.server.Create(configMap("a/1"))
			synctest.Wait()
			i.takeEvents()
			server.Delete("a")
			i.expect()
			server.Create(namespace("a", "blue"))
			i.expect()
			i.expectStored("a/1")
			server.Delete("a")
			server.Create(namespace("a", "red"))
			i.expect("Delete a/1 left")
			server.Delete("a")
			i.server.Delete("a/1")
		}
	})
}

// A namespace is deleted right after its last object, so that its scope is removed while the watch
// shows the object. Each round is one chance to show it before the removal and after the decision.
func TestDeletedNamespaceWithALateObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, namespaces, scopes := namespaceScopes(t, labels.Everything())
		i := newScopedInformer(t, scopes)
		start(t, i, namespaces)
		for range 500 {
			all.Create(namespace("a", "blue"))
			synctest.Wait()
			i.server.Create(configMap("a/1"))
			i.server.Delete("a/1")
			all.Delete("a")
			synctest.Wait()
		}
		for _, event := range i.takeEvents() {
			if event == "Delete a/1 left" {
				t.Fatalf("a handler received %q, of a deleted object", event)
			}
		}
	})
}

// A namespace whose objects the program could never list leaves nothing behind.
func TestDeletedNamespaceThatWasNeverListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, namespaces, scopes := namespaceScopes(t, labels.Everything())
		lw := &rules{ListerWatcher: fake.NewListerWatcher(&corev1.ConfigMap{}), list: func(metav1.ListOptions) error { return fake.Forbidden() }}
		informer := cache.NewSharedInformer(lw, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: scopes})
		start(t, namespaces, informer)
		synctest.Wait()
		for n := range 20 {
			name := fmt.Sprintf("ns-%d", n)
			all.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
			<-time.After(time.Minute)
			all.Delete(name)
			<-time.After(time.Minute)
		}
		if statuses := informer.ScopeStatus(); len(statuses) > 0 {
			t.Errorf("%d scopes remain; %+v", len(statuses), statuses[0])
		}
	})
}

// A namespace is deleted together with the permission to list it. Its objects are gone, too.
func TestDeletedNamespaceWithItsRole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, namespaces, scopes := namespaceScopes(t, labels.Everything())
		server := fake.NewListerWatcher(&corev1.ConfigMap{})
		var refused atomic.Bool
		refuse := func(metav1.ListOptions) error {
			if refused.Load() {
				return fake.Forbidden()
			}
			return nil
		}
		lw := &rules{ListerWatcher: server, list: refuse, watch: refuse}
		informer := cache.NewSharedInformer(lw, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: scopes})
		start(t, namespaces, informer)
		all.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
		server.Create(configMap("a/1"))
		synctest.Wait()
		refused.Store(true) // the RoleBinding is deleted first
		server.CloseWatches()
		synctest.Wait()
		server.Delete("a/1")
		all.Delete("a")
		<-time.After(24 * time.Hour)
		if n := informer.Store().Len(); n > 0 {
			t.Errorf("the store has %d objects of a deleted namespace; status: %+v", n, informer.ScopeStatus())
		}
	})
}

func TestNamespaceScopesCannotBeChanged(t *testing.T) {
	_, _, scopes := namespaceScopes(t, labels.Everything())
	a := cache.Scope{Namespace: "a"}
	for name, change := range map[string]func(...cache.Scope) error{"Add": scopes.Add, "Remove": scopes.Remove, "Set": scopes.Set} {
		if err := change(a); err == nil || len(scopes.All()) > 0 {
			t.Errorf("%s: error %v, scopes %v", name, err, scopes.All())
		}
	}
}
