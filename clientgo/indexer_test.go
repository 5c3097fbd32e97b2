// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestIndexerHoldsAnyValue stores values of several types under the keys of the Indexer's function.
func TestIndexerHoldsAnyValue(t *testing.T) {
	type point struct{ x, y int }
	for name, test := range map[string]struct {
		key    clientcache.KeyFunc
		values []any
	}{
		"ints":    {func(obj any) (string, error) { return strconv.Itoa(obj.(int)), nil }, []any{1, 2, 3}},
		"strings": {func(obj any) (string, error) { return obj.(string), nil }, []any{"a", "b", "c"}},
		"structs": {func(obj any) (string, error) { return fmt.Sprint(obj.(point)), nil }, []any{point{1, 1}, point{1, 2}, point{2, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			indexer := plain.NewIndexer(test.key, clientcache.Indexers{"type": func(obj any) ([]string, error) {
				return []string{fmt.Sprintf("%T", obj), "all"}, nil
			}})
			for _, value := range test.values {
				if err := indexer.Add(value); err != nil {
					t.Error(err)
				}
				if got, ok, err := indexer.Get(value); got != value || !ok || err != nil {
					t.Errorf("Get(%v) = %v, %v, %v", value, got, ok, err)
				}
			}
			if found, err := indexer.ByIndex("type", "all"); err != nil || len(found) != 3 || len(indexer.List()) != 3 {
				t.Errorf("the index has %v, %v", found, err)
			}
			if err := indexer.Delete(test.values[0]); err != nil || len(indexer.ListKeys()) != 2 {
				t.Errorf("after Delete: %v, %q", err, indexer.ListKeys())
			}
			if err := indexer.Replace(test.values[:1], ""); err != nil || !slices.Equal(indexer.List(), test.values[:1]) {
				t.Errorf("after Replace: %v, %v", err, indexer.List())
			}
			if err := indexer.Resync(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTransactionSkipsObjectsWithoutKey checks that a transaction skips objects without a key, and
// that its error has the positions of those that succeeded.
func TestTransactionSkipsObjectsWithoutKey(t *testing.T) {
	key := func(obj any) (string, error) {
		if obj == "" {
			return "", errRefused
		}
		return obj.(string), nil
	}
	indexer := plain.NewIndexer(key, nil)
	store := indexer.(clientcache.TransactionStore)
	add := func(obj string) clientcache.Transaction {
		return clientcache.Transaction{Type: clientcache.TransactionTypeAdd, Object: obj}
	}
	if err := store.Transaction(add("a"), add("b"), clientcache.Transaction{Type: clientcache.TransactionTypeUpdate, Object: "c"},
		clientcache.Transaction{Type: clientcache.TransactionTypeDelete, Object: "a"}); err != nil {
		t.Error(err)
	}
	if keys := slices.Sorted(slices.Values(indexer.ListKeys())); !slices.Equal(keys, []string{"b", "c"}) {
		t.Errorf("the store has the keys %q", keys)
	}
	err := store.Transaction(add("d"), add(""), add("e"))
	if err == nil || !slices.Equal(err.SuccessfulIndices, []int{0, 2}) || err.TotalTransactions != 3 || len(err.Errors) != 1 || !errors.Is(err.Errors[0], errRefused) {
		t.Errorf("a transaction with one object without key returned %+v", err)
	}
	err = store.Transaction(add(""))
	if err == nil || err.SuccessfulIndices == nil || len(err.SuccessfulIndices) != 0 {
		t.Errorf("a transaction without any key returned %#v", err)
	}
	if err := store.Transaction(); err != nil {
		t.Errorf("an empty transaction returned %v", err)
	}
}

// TestMissingKeyIsKeyError checks that a value without a key is a KeyError and changes nothing.
func TestMissingKeyIsKeyError(t *testing.T) {
	indexer := plain.NewIndexer(clientcache.MetaNamespaceKeyFunc, nil)
	if err := indexer.Add(cachetest.Pod("a")); err != nil {
		t.Fatal(err)
	}
	_, _, getError := indexer.Get("no object")
	for name, err := range map[string]error{
		"Add": indexer.Add("no object"), "Update": indexer.Update(1), "Delete": indexer.Delete(nil), "Get": getError,
		"Replace": indexer.Replace([]any{cachetest.Pod("b"), "no object"}, "5"),
	} {
		if _, ok := err.(clientcache.KeyError); !ok { // callers use a type assertion
			t.Errorf("%s returned a %T: %v", name, err, err)
		}
	}
	if keys := indexer.ListKeys(); !slices.Equal(keys, []string{"ns/a"}) || indexer.LastStoreSyncResourceVersion() != "" {
		t.Errorf("the store has the keys %q and version %q", keys, indexer.LastStoreSyncResourceVersion())
	}
}

// TestIndexerVersionIsLastWritten checks that LastStoreSyncResourceVersion is the version of the
// last write, even if an earlier write had a newer one.
func TestIndexerVersionIsLastWritten(t *testing.T) {
	indexer := plain.NewIndexer(func(obj any) (string, error) {
		if text, ok := obj.(string); ok {
			return text, nil
		}
		return clientcache.MetaNamespaceKeyFunc(obj)
	}, nil)
	for _, step := range []struct {
		what  string
		write func() error
		want  string
	}{
		{"nothing", func() error { return nil }, ""},
		{"an addition", func() error { return indexer.Add(cachetest.Pod("a", withVersion(5))) }, "5"},
		{"an update to an older version", func() error { return indexer.Update(cachetest.Pod("b", withVersion(3))) }, "3"},
		{"a value without metadata", func() error { return indexer.Add("text") }, "3"},
		{"a deletion", func() error { return indexer.Delete(cachetest.Pod("a", withVersion(9))) }, "9"},
		{"a refused tombstone", func() error {
			err := indexer.Delete(clientcache.DeletedFinalStateUnknown{Key: "ns/b", Obj: cachetest.Pod("b")})
			if err == nil {
				return errRefused // MetaNamespaceKeyFunc does not accept tombstones
			}
			return nil
		}, "9"},
		{"a replacement", func() error { return indexer.Replace([]any{cachetest.Pod("c", withVersion(2))}, "7") }, "7"},
		{"a bookmark", func() error { indexer.Bookmark("6"); return nil }, "6"},
		{"a transaction", func() error {
			indexer.(clientcache.TransactionStore).Transaction(
				clientcache.Transaction{Type: clientcache.TransactionTypeAdd, Object: cachetest.Pod("d", withVersion(12))},
				clientcache.Transaction{Type: clientcache.TransactionTypeDelete, Object: cachetest.Pod("c", withVersion(11))})
			return nil
		}, "11"},
	} {
		if err := step.write(); err != nil {
			t.Errorf("%s: %v", step.what, err)
		}
		if got := indexer.LastStoreSyncResourceVersion(); got != step.want {
			t.Errorf("after %s the version is %q, want %q", step.what, got, step.want)
		}
	}
}

// TestInformerVersionFollowsBookmarks checks that the version of an informer's store advances with
// lists, bookmarks and deletions.
func TestInformerVersionFollowsBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		h := run(t, server, clientgo.Options{})
		store := h.informer.GetStore()
		if got := store.LastStoreSyncResourceVersion(); got != "2" {
			t.Errorf("after the list the version is %q", got)
		}
		server.SkipVersions(7)
		server.Bookmark()
		synctest.Wait()
		if got := store.LastStoreSyncResourceVersion(); got != "9" || h.informer.LastSyncResourceVersion() != "9" {
			t.Errorf("after the bookmark the version is %q", got)
		}
		server.Delete("ns/a")
		synctest.Wait()
		if got := store.LastStoreSyncResourceVersion(); got != "10" {
			t.Errorf("after the deletion the version is %q", got)
		}
	})
}

// TestWritesOfTheProgramDoNotMoveTheInformerVersion checks that the version of an informer's store
// says what the server has sent, whatever versions the objects have that the program writes. A
// program that waits for the version would read a state that has not arrived.
func TestWritesOfTheProgramDoNotMoveTheInformerVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		h := run(t, server, clientgo.Options{})
		store := h.informer.GetStore()
		for name, write := range map[string]func() error{
			"Add":     func() error { return store.Add(cachetest.Pod("b", cachetest.WithVersion("50"))) },
			"Update":  func() error { return store.Update(cachetest.Pod("a", cachetest.WithVersion("60"))) },
			"Delete":  func() error { return store.Delete(cachetest.Pod("a", cachetest.WithVersion("70"))) },
			"Replace": func() error { return store.Replace([]any{cachetest.Pod("c", cachetest.WithVersion("80"))}, "90") },
			"Transaction": func() error {
				store.(clientcache.TransactionStore).Transaction(clientcache.Transaction{
					Type: clientcache.TransactionTypeAdd, Object: cachetest.Pod("e", cachetest.WithVersion("90")),
				})
				return nil
			},
			"Bookmark": func() error { store.Bookmark("90"); return nil },
		} {
			if err := write(); err != nil {
				t.Error(err)
			}
			if got := store.LastStoreSyncResourceVersion(); got != "2" {
				t.Errorf("after %s the version is %q, want that of the list", name, got)
			}
		}
		server.Create(cachetest.Pod("d"))
		synctest.Wait()
		if got := store.LastStoreSyncResourceVersion(); got != "3" {
			t.Errorf("after an event the version is %q, want 3", got)
		}
	})
}

// TestReplaceBeforeTheFirstListIsNoSync writes to the store before the informer has listed. Neither
// the informer nor its handler has synced then.
func TestReplaceBeforeTheFirstListIsNoSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		listed := make(chan struct{})
		server.InjectListFault(1, fake.Fault{Hold: listed})
		server.InjectWatchFault(1, fake.Fault{Hold: listed}) // a WatchList
		h := run(t, server, clientgo.Options{}, func(informer clientcache.SharedIndexInformer) {
			if err := informer.GetIndexer().Replace([]any{cachetest.Pod("a", withVersion(2)), cachetest.Pod("b", withVersion(1))}, "2"); err != nil {
				t.Error(err)
			}
		})
		if h.informer.HasSynced() || h.handle.HasSynced() {
			t.Errorf("before the first list: informer synced %v, handler synced %v", h.informer.HasSynced(), h.handle.HasSynced())
		}
		close(listed)
		synctest.Wait()
		if !h.informer.HasSynced() || !h.handle.HasSynced() {
			t.Errorf("after the first list: informer synced %v, handler synced %v", h.informer.HasSynced(), h.handle.HasSynced())
		}
	})
}

// TestGeneratedListers lists by selector and namespace with a generated lister, which passes an
// ObjectMeta to the index by namespace.
func TestGeneratedListers(t *testing.T) {
	indexer := plain.NewIndexer(clientcache.MetaNamespaceKeyFunc, clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc})
	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "a", Labels: map[string]string{"app": "x"}}}
	if err := indexer.Replace([]any{cachetest.Pod("a"), cachetest.Pod("b", cachetest.WithLabel("app", "x")), other}, "5"); err != nil {
		t.Fatal(err)
	}
	pods := corelisters.NewPodLister(indexer)
	app := labels.SelectorFromSet(labels.Set{"app": "x"})
	for name, test := range map[string]struct {
		list func() ([]*corev1.Pod, error)
		want int
	}{
		"all":                     {func() ([]*corev1.Pod, error) { return pods.List(labels.Everything()) }, 3},
		"selected":                {func() ([]*corev1.Pod, error) { return pods.List(app) }, 2},
		"of a namespace":          {func() ([]*corev1.Pod, error) { return pods.Pods("ns").List(labels.Everything()) }, 2},
		"selected of a namespace": {func() ([]*corev1.Pod, error) { return pods.Pods("ns").List(app) }, 1},
		"of an unknown namespace": {func() ([]*corev1.Pod, error) { return pods.Pods("none").List(labels.Everything()) }, 0},
	} {
		if list, err := test.list(); err != nil || len(list) != test.want {
			t.Errorf("%s: %v, %v", name, list, err)
		}
	}
	if got, err := pods.Pods("other").Get("a"); err != nil || got != other {
		t.Errorf("Get: %v, %v", got, err)
	}
}

// TestIndexes checks that index functions may return a shared slice with repeated values, that
// unknown indexes are errors, that a value disappears with its last object, and that GetIndexers
// returns a copy.
func TestIndexes(t *testing.T) {
	shared := []string{"one", "two", "one"}
	indexer := plain.NewIndexer(clientcache.MetaNamespaceKeyFunc, clientcache.Indexers{
		"shared": func(any) ([]string, error) { return shared, nil },
		"fails":  func(any) ([]string, error) { return nil, errRefused },
	})
	for _, name := range []string{"b", "a"} {
		if err := indexer.Add(cachetest.Pod(name)); err != nil {
			t.Fatal(err)
		}
	}
	found, err := indexer.Index("shared", cachetest.Pod("other"))
	if err != nil || len(found) != 2 {
		t.Errorf("Index returned %v, %v", found, err)
	}
	if keys, err := indexer.IndexKeys("shared", "two"); err != nil || !slices.Equal(keys, []string{"ns/a", "ns/b"}) {
		t.Errorf("IndexKeys returned %q, %v", keys, err)
	}
	if !slices.Equal(shared, []string{"one", "two", "one"}) {
		t.Errorf("the shared slice was changed to %q", shared)
	}
	if _, err := indexer.Index("fails", cachetest.Pod("a")); !errors.Is(err, errRefused) {
		t.Errorf("Index returned %v", err)
	}
	_, byIndex := indexer.ByIndex("unknown", "one")
	_, keysErr := indexer.IndexKeys("unknown", "one")
	_, index := indexer.Index("unknown", cachetest.Pod("a"))
	for name, err := range map[string]error{"ByIndex": byIndex, "IndexKeys": keysErr, "Index": index} {
		if err == nil || err.Error() != "Index with name unknown does not exist" {
			t.Errorf("%s of an unknown index returned %v", name, err)
		}
	}
	none, err := indexer.ByIndex("shared", "three")
	if err != nil || none == nil || len(none) != 0 {
		t.Errorf("ByIndex of an unknown value returned %#v, %v", none, err)
	}
	delete(indexer.GetIndexers(), "shared")
	if indexer.GetIndexers()["shared"] == nil {
		t.Error("GetIndexers did not return a copy")
	}
	for _, name := range []string{"a", "b"} {
		if err := indexer.Delete(cachetest.Pod(name)); err != nil {
			t.Fatal(err)
		}
	}
	if values := indexer.ListIndexFuncValues("shared"); len(values) != 0 || len(indexer.ListIndexFuncValues("unknown")) != 0 {
		t.Errorf("after the deletions the index has the values %q", values)
	}
}

// TestGetIndexersDuringAddIndexers calls the functions that GetIndexers returns while indexes are
// added, as controller-runtime does.
func TestGetIndexersDuringAddIndexers(t *testing.T) {
	indexer := plain.NewIndexer(clientcache.MetaNamespaceKeyFunc, clientcache.Indexers{"name": byName})
	if err := indexer.Add(cachetest.Pod("a")); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200 {
			if err := indexer.AddIndexers(clientcache.Indexers{strconv.Itoa(i): byName}); err != nil {
				t.Error(err)
			}
		}
	}()
	for range 200 {
		for _, index := range indexer.GetIndexers() {
			if values, err := index(cachetest.Pod("b")); err != nil || values[0] != "b" {
				t.Errorf("an index function returned %q, %v", values, err)
			}
		}
	}
	<-done
}

// TestKeysAndValues checks that keys are namespace/name, or name, and that GetByKey returns the
// stored value itself.
func TestKeysAndValues(t *testing.T) {
	indexer := plain.NewIndexer(clientcache.MetaNamespaceKeyFunc, nil)
	node, stored := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, cachetest.Pod("a")
	for _, obj := range []any{node, stored} {
		if err := indexer.Add(obj); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range map[string]any{"n": node, "ns/a": stored} {
		if got, ok, err := indexer.GetByKey(key); got != want || !ok || err != nil {
			t.Errorf("GetByKey(%q) = %v, %v, %v", key, got, ok, err)
		}
	}
	if got, ok, err := indexer.GetByKey("ns/none"); got != nil || ok || err != nil {
		t.Errorf("GetByKey of an unknown key returned %v, %v, %v", got, ok, err)
	}
}
