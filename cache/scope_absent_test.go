// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// expectAbsent checks what reads return for an object that the store does not have: that it
// does not exist or, with noScope, that it may exist in a scope that the informer does not hold.
func expectAbsent(t *testing.T, informer *cache.SharedInformer[*corev1.ConfigMap], key string, noScope bool) {
	t.Helper()
	obj := configMap(key)
	lister := cache.NewLister(informer.Store(), corev1.Resource("configmaps")).Namespace(obj.Namespace)
	_, err := lister.Get(obj.Name)
	if errors.Is(err, cache.ErrNoScope) != noScope || apierrors.IsNotFound(err) == noScope {
		t.Errorf("Lister.Get of %q: %v, want ErrNoScope: %v", key, err, noScope)
	}
	_, exists, err := informer.Store().Get(obj)
	if errors.Is(err, cache.ErrNoScope) != noScope || exists {
		t.Errorf("Get of %q: exists %v, %v, want ErrNoScope: %v", key, exists, err, noScope)
	}
	if err := informer.Store().KeyError(key); errors.Is(err, cache.ErrNoScope) != noScope {
		t.Errorf("KeyError of %q: %v, want ErrNoScope: %v", key, err, noScope)
	}
}

func TestObjectOfNoScopeIsNotCalledMissing(t *testing.T) {
	dev := cache.Scope{Namespace: "d", LabelSelector: "env=dev"}
	hash := cache.Scope{Hash: cache.HashRange{Field: cache.HashNamespace, First: 0, Last: 1<<63 - 1}}
	for _, row := range []struct {
		name            string
		scopes          []cache.Scope
		missing, unheld []string
	}{
		{"namespaces", namespaces("a", "b"), []string{"a/x", "b/x"}, []string{"c/x"}},
		{"the whole collection", []cache.Scope{{}}, []string{"a/x"}, nil},
		{"a name", []cache.Scope{{Namespace: "a", FieldSelector: "metadata.name=x"}}, []string{"a/x"}, []string{"a/y", "b/x"}},
		{"all but a name", []cache.Scope{{FieldSelector: "metadata.name!=x"}}, []string{"a/y", "a/x"}, nil},
		{"a namespace by field", []cache.Scope{{FieldSelector: "metadata.namespace=a"}}, []string{"a/x"}, []string{"b/x"}},
		{"labels in a namespace, which the key does not decide", []cache.Scope{dev}, []string{"d/x"}, []string{"a/x"}},
		{"hashes of namespaces", []cache.Scope{hash}, []string{"green/x"}, []string{"blue/x"}},
		{"none", nil, nil, []string{"a/x"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			runScoped(t, func(i *scopedInformer) {
				for _, key := range row.missing {
					expectAbsent(t, i.SharedInformer, key, false)
				}
				for _, key := range row.unheld {
					expectAbsent(t, i.SharedInformer, key, true)
				}
			}, row.scopes...)
		})
	}
}

// An object with another hash of its UID may exist, until the informer has seen its deletion, or
// holds all hashes.
func TestObjectOfOtherHashesIsNotCalledMissing(t *testing.T) {
	half := func(first, last uint64) cache.Scope {
		return cache.Scope{Hash: cache.HashRange{Field: cache.HashUID, First: first, Last: last}}
	}
	lower, upper := half(0, 1<<63-1), half(1<<63, 1<<64-1)
	runScoped(t, func(i *scopedInformer) {
		var held, other *corev1.ConfigMap
		for n := 0; held == nil || other == nil; n++ {
			obj := i.server.Create(configMap("a/" + strconv.Itoa(n)))
			if scope.HashOf(string(obj.UID))>>63 == 0 {
				held = obj
			} else {
				other = obj
			}
		}
		synctest.Wait()
		expectAbsent(i.t, i.SharedInformer, "a/"+other.Name, true)
		expectAbsent(i.t, i.SharedInformer, "a/none", true)
		i.server.Delete("a/" + held.Name)
		synctest.Wait()
		expectAbsent(i.t, i.SharedInformer, "a/"+held.Name, false)
		<-time.After(time.Hour)
		expectAbsent(i.t, i.SharedInformer, "a/"+held.Name, true)

		if err := i.scopes.Add(upper); err != nil {
			i.t.Fatal(err)
		}
		if err := i.InScope(upper).WaitForSync(i.t.Context()); err != nil {
			i.t.Fatal(err)
		}
		expectAbsent(i.t, i.SharedInformer, "a/none", false)
		_ = i.scopes.Remove(upper)
		synctest.Wait()
		expectAbsent(i.t, i.SharedInformer, "a/"+other.Name, true) // it has left, and exists
	}, lower)
}

// A scope that was never listed, or was removed, may have the object.
func TestObjectOfScopeThatWasNotListedIsNotCalledMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var allowed atomic.Bool
		scopes := cache.NewScopes(namespaces("a")...)
		informer := runInformer(t, refusing(&allowed, "secret"), &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: scopes})
		_ = scopes.Add(namespaces("secret")...)
		<-time.After(time.Minute)
		expectAbsent(t, informer, "secret/1", true)
		expectAbsent(t, informer, "a/none", false)
		allowed.Store(true)
		<-time.After(5 * time.Minute)
		expectAbsent(t, informer, "secret/none", false)
		_ = scopes.Remove(namespaces("secret")...)
		synctest.Wait()
		expectAbsent(t, informer, "secret/1", true)
	})
}

// Once Set has replaced scopes, those that are gone answer for nothing, and the new ones do once
// they are listed.
func TestObjectOfReplacedScopeIsNotCalledMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var allowed atomic.Bool
		scopes := cache.NewScopes(cache.Scope{})
		informer := runInformer(t, refusing(&allowed, "secret"), &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: scopes})
		_ = scopes.Set(namespaces("secret")...)
		<-time.After(time.Minute)
		for _, key := range []string{"secret/1", "secret/none", "a/1"} {
			expectAbsent(t, informer, key, true)
		}
		allowed.Store(true)
		<-time.After(5 * time.Minute)
		if _, ok := informer.Store().GetByKey("secret/1"); !ok {
			t.Error("an object of a listed scope is absent")
		}
		expectAbsent(t, informer, "secret/none", false)
		expectAbsent(t, informer, "a/1", true)
	})
}

// A namespace whose deletion was seen has no objects. This is remembered for an hour.
func TestObjectOfDeletedNamespaceIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, selected, scopes := namespaceScopes(t, blue)
		all.Create(namespace("a", "blue"))
		all.Create(namespace("other", "red"))
		i := newScopedInformer(t, scopes)
		i.server.Create(configMap("a/1"))
		start(t, i, selected)
		if err := i.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect := func(key string, noScope bool) {
			t.Helper()
			synctest.Wait()
			expectAbsent(t, i.SharedInformer, key, noScope)
		}
		expect("other/1", true)
		all.Delete("other")
		expect("other/1", false)
		all.Delete("a")
		i.server.Delete("a/1")
		expect("a/1", false)
		if err := i.WaitForDelete(t.Context(), configMap("a/1")); err != nil {
			t.Errorf("WaitForDelete in a deleted namespace: %v", err)
		}
		<-time.After(59 * time.Minute)
		expect("a/1", false)
		<-time.After(2 * time.Minute)
		expect("a/1", true)
		all.Create(namespace("a", "blue"))
		expect("a/1", false)
		all.Delete("a")
		expect("a/1", false)
		all.Create(namespace("a", "red"))
		expect("a/1", true)
	})
}

func TestWaitForDeleteOfObjectOfNoScope(t *testing.T) {
	expect := func(t *testing.T, err error) {
		t.Helper()
		if !errors.Is(err, cache.ErrNoScope) || !errors.Is(err, cache.ErrNotSelected) {
			t.Errorf("WaitForDelete: %v", err)
		}
	}
	runScoped(t, func(i *scopedInformer) {
		t := i.t // of the bubble
		unheld, held := i.server.Create(configMap("b/1")), i.server.Create(configMap("a/1"))
		i.expect("Add a/1")
		expect(t, i.WaitForDelete(t.Context(), unheld))
		expect(t, i.WaitForDelete(t.Context(), configMap("b/1"))) // without a version
		if err := i.WaitForObject(t.Context(), unheld); !errors.Is(err, cache.ErrNoScope) || !errors.Is(err, cache.ErrNotSelected) {
			t.Errorf("WaitForObject: %v", err)
		}
		left := startWait(func() error { return i.WaitForDelete(t.Context(), held) })
		synctest.Wait()
		_ = i.scopes.Remove(namespaces("a")...)
		expect(t, <-left)
		_ = i.scopes.Add(namespaces("b")...)
		added := startWait(func() error { return i.WaitForDelete(t.Context(), configMap("b/1")) })
		synctest.Wait()
		i.server.Delete("b/1")
		if err := <-added; err != nil {
			t.Errorf("WaitForDelete in an added scope: %v", err)
		}
	}, namespaces("a")...)
}

// WaitForDelete does not take an object for deleted that a scope may have which was not listed yet.
func TestWaitForDeleteWaitsForTheListOfTheScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var allowed atomic.Bool
		lw := refusing(&allowed, "secret")
		scopes := cache.NewScopes(namespaces("a")...)
		informer := runInformer(t, lw, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: scopes})
		_ = scopes.Add(namespaces("secret")...)
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		if err := informer.WaitForDelete(ctx, configMap("secret/1")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("WaitForDelete in a scope that was not listed: %v", err)
		}
		lw.Delete("secret/1")
		allowed.Store(true)
		before := time.Now()
		if err := informer.WaitForDelete(t.Context(), configMap("secret/1")); err != nil || time.Since(before) > 35*time.Second {
			t.Errorf("WaitForDelete took %v: %v", time.Since(before), err)
		}
	})
}

// What a handler has received of a scope, reads know: that its list has no object with another key,
// and that the scope was removed.
func TestReadsKnowTheScopesOfDeliveredEvents(t *testing.T) {
	half := func(field cache.HashField, first, last uint64) cache.Scope {
		return cache.Scope{Hash: cache.HashRange{Field: field, First: first, Last: last}}
	}
	slots := func(field cache.HashField, n uint64) (all []cache.Scope) {
		width := math.MaxUint64/n + 1
		for i := range n {
			all = append(all, half(field, i*width, (i+1)*width-1))
		}
		return all
	}
	for _, row := range []struct {
		name   string
		scopes []cache.Scope
	}{
		{"namespaces", namespaces("a", "b")},
		{"the whole collection", []cache.Scope{{}}},
		{"a namespace by field", []cache.Scope{{FieldSelector: "metadata.namespace=a"}, {FieldSelector: "metadata.namespace=b"}}},
		{"all but a name", []cache.Scope{{FieldSelector: "metadata.name!=x"}}},
		{"labels", []cache.Scope{{LabelSelector: "env=dev"}}},
		{"labels in a namespace", []cache.Scope{{Namespace: "a", LabelSelector: "env=dev"}, {Namespace: "b"}}},
		{"two ranges of namespaces", slots(cache.HashNamespace, 2)},
		{"two ranges of UIDs", slots(cache.HashUID, 2)},
		{"32 slots of UIDs", slots(cache.HashUID, 32)},
		{"32 slots of UIDs in namespaces", inNamespaces(slots(cache.HashUID, 32), "a", "b")},
	} {
		for when, first := range map[string][]cache.Scope{"of the start": row.scopes, "added": nil, "replacing another": namespaces("z")} {
			cachetest.RunInBubble(t, row.name+", "+when, func(t *testing.T) {
				i := newScopedInformer(t, cache.NewScopes(first...))
				var added, left atomic.Int32
				handler := func(event cache.KeyEvent) {
					expectAbsent(t, i.SharedInformer, event.Key+"-none", event.LeftScope)
					if event.LeftScope {
						left.Add(1)
						expectAbsent(t, i.SharedInformer, event.Key, true)
						return
					}
					added.Add(1)
				}
				for range 3 {
					if _, err := i.AddKeyHandler(handler, cache.HandlerOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				for _, key := range []string{"a/1", "a/2", "b/1"} {
					i.server.Create(configMap(key, "env=dev"))
				}
				start(t, i)
				synctest.Wait()
				if when != "of the start" {
					if err := i.scopes.Set(row.scopes...); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				if err := i.scopes.Remove(row.scopes...); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if added.Load() != 9 || left.Load() != 9 {
					t.Errorf("the handlers received %d additions and %d removals, want 9 of each", added.Load(), left.Load())
				}
			})
		}
	}
}

// inNamespaces returns each scope in each of some namespaces.
func inNamespaces(scopes []cache.Scope, names ...string) (all []cache.Scope) {
	for _, name := range names {
		for _, scope := range scopes {
			scope.Namespace = name
			all = append(all, scope)
		}
	}
	return all
}

// The work queue of a key handler must know that an object still exists.
func TestKeyOfRemovedScopeIsLeftScope(t *testing.T) {
	for name, options := range map[string]cache.InformerOptions[*corev1.ConfigMap]{
		"scopes": {Scopes: cache.NewScopes(namespaces("a", "b")...), Filter: notSkipped},
		"filter": {Filter: notSkipped},
	} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			i := newScopedInformerWith(t, options)
			last := make(map[string]cache.KeyEvent)
			resume := make(chan struct{})
			if _, err := i.AddKeyHandler(func(event cache.KeyEvent) {
				<-resume
				last[event.Key] = event
			}, cache.HandlerOptions{}); err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"a/1", "a/2", "b/deleted", "b/refused", "b/back"} {
				i.server.Create(configMap(key))
			}
			start(t, i)
			if err := i.WaitForSync(t.Context()); err != nil {
				t.Fatal(err)
			}
			if options.Scopes != nil {
				_ = i.scopes.Remove(namespaces("a")...)
			} else {
				i.server.Update(configMap("a/1", "skip=1"))
				i.server.Update(configMap("a/2", "skip=1"))
			}
			i.server.Delete("b/deleted")
			i.server.Update(configMap("b/refused", "skip=1"))
			i.server.Update(configMap("b/back", "skip=1"))
			synctest.Wait()
			i.server.Update(configMap("b/back"))
			synctest.Wait()
			close(resume)
			synctest.Wait()
			for key, left := range map[string]bool{"a/1": true, "a/2": true, "b/deleted": false, "b/refused": true, "b/back": false} {
				if event, ok := last[key]; !ok || event.LeftScope != left {
					t.Errorf("%s: %+v, want LeftScope %v", key, event, left)
				}
			}
		})
	}
}
