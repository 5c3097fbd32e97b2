// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// scopedInformer is an informer of ConfigMaps over scopes, which records its events.
type scopedInformer struct {
	*cache.SharedInformer[*corev1.ConfigMap]
	t      *testing.T
	server *fake.ListerWatcher[*corev1.ConfigMap]
	scopes *cache.Scopes

	mu     sync.Mutex // guards events
	events []string
}

// runScoped runs a test in a bubble, with an informer over scopes of a server.
func runScoped(t *testing.T, test func(i *scopedInformer), scopes ...cache.Scope) {
	t.Helper()
	runScopedWith(t, cache.InformerOptions[*corev1.ConfigMap]{Scopes: cache.NewScopes(scopes...)}, test)
}

func runScopedWith(t *testing.T, options cache.InformerOptions[*corev1.ConfigMap], test func(i *scopedInformer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		i := newScopedInformerWith(t, options)
		start(t, i)
		if err := i.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		test(i)
	})
}

func newScopedInformer(t *testing.T, scopes *cache.Scopes) *scopedInformer {
	t.Helper()
	return newScopedInformerWith(t, cache.InformerOptions[*corev1.ConfigMap]{Scopes: scopes})
}

func newScopedInformerWith(t *testing.T, options cache.InformerOptions[*corev1.ConfigMap]) *scopedInformer {
	t.Helper()
	i := &scopedInformer{t: t, server: fake.NewListerWatcher(&corev1.ConfigMap{}), scopes: options.Scopes}
	i.server.BookmarkEvery(time.Minute)
	i.SharedInformer = cache.NewSharedInformer(i.server, &corev1.ConfigMap{}, options)
	if _, err := i.AddBatchHandler(i.record, cache.HandlerOptions{}); err != nil {
		t.Fatal(err)
	}
	return i
}

func (i *scopedInformer) record(events []cache.Event[*corev1.ConfigMap]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, e := range events {
		text := fmt.Sprintf("%s %s", e.Type, e.Key)
		switch {
		case e.LeftScope:
			text += " left"
		case e.InInitialList:
			text += " initial"
		}
		i.events = append(i.events, text)
	}
}

// expect waits until all is quiet, and compares the events since the last call, in any order.
func (i *scopedInformer) expect(want ...string) {
	i.t.Helper()
	synctest.Wait()
	slices.Sort(want)
	if diff := cmp.Diff(want, i.takeEvents()); diff != "" {
		i.t.Errorf("events (-want +got):\n%s", diff)
	}
}

// takeEvents returns the events since the last call, sorted.
func (i *scopedInformer) takeEvents() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	events := i.events
	i.events = nil
	slices.Sort(events)
	return events
}

// expectStored compares the keys of the store.
func (i *scopedInformer) expectStored(want ...string) {
	i.t.Helper()
	var keys []string
	for key := range i.Store().All() {
		keys = append(keys, key)
	}
	if got := strings.Join(keys, " "); got != strings.Join(want, " ") {
		i.t.Errorf("the store has %s, want %s", got, strings.Join(want, " "))
	}
}

func configMap(key string, labels ...string) *corev1.ConfigMap {
	namespace, name, _ := strings.Cut(key, "/")
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{}}}
	for _, label := range labels {
		name, value, _ := strings.Cut(label, "=")
		obj.Labels[name] = value
	}
	return obj
}

// notSkipped is a Filter.
func notSkipped(obj *corev1.ConfigMap) bool { return obj.Labels["skip"] == "" }

func namespaces(names ...string) (scopes []cache.Scope) {
	for _, name := range names {
		scopes = append(scopes, cache.Scope{Namespace: name})
	}
	return scopes
}

func TestScopesComeAndGo(t *testing.T) {
	runScoped(t, func(i *scopedInformer) {
		for _, key := range []string{"a/1", "b/1", "c/1"} {
			i.server.Create(configMap(key))
		}
		i.expect("Add a/1", "Add b/1")
		i.server.Create(configMap("a/2"))
		i.expect("Add a/2")

		if err := i.scopes.Add(namespaces("c")...); err != nil {
			i.t.Fatal(err)
		}
		if err := i.InScope(cache.Scope{Namespace: "c"}).WaitForSync(i.t.Context()); err != nil {
			i.t.Fatal(err)
		}
		i.expect("Add c/1 initial")
		i.expectStored("a/1", "a/2", "b/1", "c/1")

		if err := i.scopes.Remove(namespaces("a")...); err != nil {
			i.t.Fatal(err)
		}
		i.expect("Delete a/1 left", "Delete a/2 left")
		i.server.Create(configMap("a/3"))
		i.server.Delete("b/1")
		i.expect("Delete b/1")
		i.expectStored("c/1")
	}, namespaces("a", "b")...)
}

// A node agent holds the Secrets that its Pods use.
func TestScopesOfNames(t *testing.T) {
	name := func(n int) cache.Scope {
		return cache.Scope{Namespace: "a", FieldSelector: fmt.Sprintf("metadata.name=%d", n)}
	}
	runScoped(t, func(i *scopedInformer) {
		for n := range 4 {
			i.server.Create(configMap(fmt.Sprintf("a/%d", n)))
		}
		i.expect("Add a/0", "Add a/1")
		for range 3 {
			if err := i.scopes.Add(name(2)); err != nil {
				i.t.Fatal(err)
			}
			i.expect("Add a/2 initial")
			i.server.Update(configMap("a/2", "n=1"))
			i.expect("Update a/2")
			i.server.Delete("a/2")
			i.expect("Delete a/2")
			i.server.Create(configMap("a/2"))
			i.expect("Add a/2")
			if err := i.scopes.Remove(name(2)); err != nil {
				i.t.Fatal(err)
			}
			i.expect("Delete a/2 left")
		}
		if all := i.scopes.All(); !slices.Equal(all, []cache.Scope{name(0), name(1)}) {
			i.t.Errorf("scopes: %v", all)
		}
		i.expectStored("a/0", "a/1")
	}, name(0), name(1))
}

// What Set removes leaves before what it adds is listed, also where both have an object.
func TestSetRemovesScopesBeforeItAddsOthers(t *testing.T) {
	runScoped(t, func(i *scopedInformer) {
		i.server.Create(configMap("a/1"))
		i.server.Create(configMap("b/1"))
		i.expect("Add a/1", "Add b/1")
		_ = i.scopes.Set(cache.Scope{})
		i.expect("Delete a/1 left", "Delete b/1 left", "Add a/1 initial", "Add b/1 initial")
		_ = i.scopes.Set(namespaces("b", "c")...)
		i.expect("Delete a/1 left", "Delete b/1 left", "Add b/1 initial")
		i.expectStored("b/1")
	}, namespaces("a", "b")...)
}

// ranges returns scopes of UIDs between limits in sixteenths of all hashes.
func ranges(sixteenths ...uint64) (scopes []cache.Scope) {
	for n := range len(sixteenths) / 2 {
		first, end := sixteenths[2*n], sixteenths[2*n+1]
		scopes = append(scopes, cache.Scope{Hash: cache.HashRange{Field: cache.HashUID, First: first << 60, Last: end<<60 - 1}})
	}
	return scopes
}

// sixteenth returns in which sixteenth of all hashes an object's UID is.
func (i *scopedInformer) sixteenth(key string) uint64 {
	obj, _ := i.server.Get(key)
	return sixteenthOf(obj.UID)
}

func sixteenthOf(uid types.UID) uint64 {
	hash, err := strconv.ParseUint(sharding.HashField(string(uid)), 16, 64)
	if err != nil {
		panic(err)
	}
	return hash >> 60
}

func TestScopesOfHashes(t *testing.T) {
	for _, sharded := range []bool{false, true} {
		t.Run(fmt.Sprintf("server with shards: %v", sharded), func(t *testing.T) { testScopesOfHashes(t, sharded) })
	}
}

func testScopesOfHashes(t *testing.T, sharded bool) {
	t.Helper()
	runScoped(t, func(i *scopedInformer) {
		i.server.SetShardedListAndWatch(sharded)
		in := func(from, to uint64, event string) (events []string) {
			for n := range 200 {
				key := fmt.Sprintf("a/%03d", n)
				if at := i.sixteenth(key); from <= at && at < to {
					events = append(events, fmt.Sprintf(event, key))
				}
			}
			return events
		}
		for n := range 200 {
			i.server.Create(configMap(fmt.Sprintf("a/%03d", n)))
		}
		updateAll := func() {
			for n := range 200 {
				i.server.Update(configMap(fmt.Sprintf("a/%03d", n), "n=1"))
			}
		}
		i.expect(in(0, 4, "Add %s")...)
		updateAll()
		i.expect(in(0, 4, "Update %s")...)

		_ = i.scopes.Add(ranges(4, 6, 10, 16)...)
		i.expect(append(in(4, 6, "Add %s initial"), in(10, 16, "Add %s initial")...)...)
		updateAll() // proves the joined watch
		i.expect(append(in(0, 6, "Update %s"), in(10, 16, "Update %s")...)...)
		i.server.Bookmark()
		synctest.Wait()
		if n := i.server.OpenWatches(); n != 1 {
			i.t.Errorf("%d watches are open, want 1", n)
		}
		_ = i.scopes.Remove(ranges(4, 6)...)
		i.expect(in(4, 6, "Delete %s left")...)
		updateAll()
		i.expect(append(in(0, 4, "Update %s"), in(10, 16, "Update %s")...)...)

		_ = i.scopes.Set(ranges(0, 2, 2, 12)...)
		<-time.After(2 * time.Minute)
		i.expect(slices.Concat(in(0, 4, "Delete %s left"), in(10, 16, "Delete %s left"), in(0, 12, "Add %s initial"))...)
		updateAll()
		i.expect(in(0, 12, "Update %s")...)
		if status := i.ScopeStatus(); len(status) != 2 || !status[0].Synced || (status[1].OutOfScope == 0) != sharded {
			i.t.Errorf("status: %+v", status)
		}
	}, ranges(0, 4)...)
}

// The scopes of a stopped informer are stopped, too.
func TestStatusOfScopeOfStoppedInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newScopedInformer(t, cache.NewScopes(namespaces("a")...))
		stop := start(t, i)
		_ = i.WaitForSync(t.Context())
		stop()
		if s, err := i.InScope(cache.Scope{Namespace: "a"}).Status(); s.Phase != cache.PhaseStopped {
			t.Errorf("after Run: %q, %v", s.Phase, err)
		}
	})
}
