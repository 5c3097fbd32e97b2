package clientgo_test

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
)

// An Indexer holds any values, under the keys that its function gives them.
func TestFact26AnyValue(t *testing.T) {
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
			indexer := clientgo.NewIndexer(test.key, clientcache.Indexers{"type": func(obj any) ([]string, error) {
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
				t.Errorf("the index finds %v, %v", found, err)
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

// A transaction leaves out what has no key, and says which were not left out.
func TestFact26Transactions(t *testing.T) {
	key := func(obj any) (string, error) {
		if obj == "" {
			return "", errRefused
		}
		return obj.(string), nil
	}
	indexer := clientgo.NewIndexer(key, nil)
	store := indexer.(clientcache.TransactionStore)
	add := func(obj string) clientcache.Transaction {
		return clientcache.Transaction{Type: clientcache.TransactionTypeAdd, Object: obj}
	}
	if err := store.Transaction(add("a"), add("b"), clientcache.Transaction{Type: clientcache.TransactionTypeUpdate, Object: "c"},
		clientcache.Transaction{Type: clientcache.TransactionTypeDelete, Object: "a"}); err != nil {
		t.Error(err)
	}
	if keys := slices.Sorted(slices.Values(indexer.ListKeys())); !slices.Equal(keys, []string{"b", "c"}) {
		t.Errorf("the store has %q", keys)
	}
	err := store.Transaction(add("d"), add(""), add("e"))
	if err == nil || !slices.Equal(err.SuccessfulIndices, []int{0, 2}) || err.TotalTransactions != 3 || len(err.Errors) != 1 || !errors.Is(err.Errors[0], errRefused) {
		t.Errorf("with one that has no key: %+v", err)
	}
	err = store.Transaction(add(""))
	if err == nil || err.SuccessfulIndices == nil || len(err.SuccessfulIndices) != 0 {
		t.Errorf("with none that has a key: %#v", err)
	}
	if err := store.Transaction(); err != nil {
		t.Errorf("of nothing: %v", err)
	}
}

// What has no key is a KeyError, which changes nothing.
func TestFact26NoKey(t *testing.T) {
	indexer := clientgo.NewIndexer(clientcache.MetaNamespaceKeyFunc, nil)
	if err := indexer.Add(pod("a")); err != nil {
		t.Fatal(err)
	}
	_, _, getError := indexer.Get("no object")
	for name, err := range map[string]error{
		"Add": indexer.Add("no object"), "Update": indexer.Update(1), "Delete": indexer.Delete(nil), "Get": getError,
		"Replace": indexer.Replace([]any{pod("b"), "no object"}, "5"),
	} {
		if _, ok := err.(clientcache.KeyError); !ok { // its users look at the type
			t.Errorf("%s: %T: %v", name, err, err)
		}
	}
	if keys := indexer.ListKeys(); !slices.Equal(keys, []string{"ns/a"}) || indexer.LastStoreSyncResourceVersion() != "" {
		t.Errorf("the store has %q, and is at %q", keys, indexer.LastStoreSyncResourceVersion())
	}
}

// An Indexer is at the version that was written last, whatever that is.
func TestFact27TheLastWrittenVersion(t *testing.T) {
	indexer := clientgo.NewIndexer(func(obj any) (string, error) {
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
		{"an addition", func() error { return indexer.Add(versioned(pod("a"), 5)) }, "5"},
		{"an older one", func() error { return indexer.Update(versioned(pod("b"), 3)) }, "3"},
		{"what has no metadata", func() error { return indexer.Add("text") }, "3"},
		{"a deletion", func() error { return indexer.Delete(versioned(pod("a"), 9)) }, "9"},
		{"a tombstone", func() error {
			err := indexer.Delete(clientcache.DeletedFinalStateUnknown{Key: "ns/b", Obj: pod("b")})
			if err == nil {
				return errRefused // MetaNamespaceKeyFunc does not know tombstones
			}
			return nil
		}, "9"},
		{"a replacement", func() error { return indexer.Replace([]any{versioned(pod("c"), 2)}, "7") }, "7"},
		{"a bookmark", func() error { indexer.Bookmark("6"); return nil }, "6"},
		{"a transaction", func() error {
			indexer.(clientcache.TransactionStore).Transaction(
				clientcache.Transaction{Type: clientcache.TransactionTypeAdd, Object: versioned(pod("d"), 12)},
				clientcache.Transaction{Type: clientcache.TransactionTypeDelete, Object: versioned(pod("c"), 11)})
			return nil
		}, "11"},
	} {
		if err := step.write(); err != nil {
			t.Errorf("%s: %v", step.what, err)
		}
		if got := indexer.LastStoreSyncResourceVersion(); got != step.want {
			t.Errorf("after %s it is at %q, want %q", step.what, got, step.want)
		}
	}
}

// An informer's store moves with bookmarks, and with events that change nothing.
func TestFact27TheInformersVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		s := run(t, server, clientgo.Options{})
		store := s.informer.GetStore()
		if got := store.LastStoreSyncResourceVersion(); got != "2" {
			t.Errorf("after the list it is at %q", got)
		}
		server.SkipVersions(7)
		server.Bookmark()
		synctest.Wait()
		if got := store.LastStoreSyncResourceVersion(); got != "9" || s.informer.LastSyncResourceVersion() != "9" {
			t.Errorf("after the bookmark it is at %q", got)
		}
		server.Delete("ns/a")
		synctest.Wait()
		if got := store.LastStoreSyncResourceVersion(); got != "10" {
			t.Errorf("after the deletion it is at %q", got)
		}
	})
}

// Generated listers ask an index with metadata alone, by a selector or a namespace.
func TestFact28ListersAskWithMetadata(t *testing.T) {
	indexer := clientgo.NewIndexer(clientcache.MetaNamespaceKeyFunc, clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc})
	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "a", Labels: map[string]string{"app": "x"}}}
	if err := indexer.Replace([]any{pod("a"), labelled(pod("b"), "app", "x"), other}, "5"); err != nil {
		t.Fatal(err)
	}
	pods := corelisters.NewPodLister(indexer)
	app := labels.SelectorFromSet(labels.Set{"app": "x"})
	for name, test := range map[string]struct {
		list func() ([]*corev1.Pod, error)
		want int
	}{
		"all":                      {func() ([]*corev1.Pod, error) { return pods.List(labels.Everything()) }, 3},
		"selected":                 {func() ([]*corev1.Pod, error) { return pods.List(app) }, 2},
		"of a namespace":           {func() ([]*corev1.Pod, error) { return pods.Pods("ns").List(labels.Everything()) }, 2},
		"selected of a namespace":  {func() ([]*corev1.Pod, error) { return pods.Pods("ns").List(app) }, 1},
		"of a namespace not there": {func() ([]*corev1.Pod, error) { return pods.Pods("none").List(labels.Everything()) }, 0},
	} {
		if list, err := test.list(); err != nil || len(list) != test.want {
			t.Errorf("%s: %v, %v", name, list, err)
		}
	}
	if got, err := pods.Pods("other").Get("a"); err != nil || got != other {
		t.Errorf("Get: %v, %v", got, err)
	}
}

// Index functions' slices may be shared, their values repeated; unknown indexes are errors;
// a value whose last object goes, goes too; GetIndexers is a copy.
func TestFact28Indexes(t *testing.T) {
	shared := []string{"one", "two", "one"}
	indexer := clientgo.NewIndexer(clientcache.MetaNamespaceKeyFunc, clientcache.Indexers{
		"shared": func(any) ([]string, error) { return shared, nil },
		"fails":  func(any) ([]string, error) { return nil, errRefused },
	})
	for _, name := range []string{"b", "a"} {
		if err := indexer.Add(pod(name)); err != nil {
			t.Fatal(err)
		}
	}
	found, err := indexer.Index("shared", pod("anybody"))
	if err != nil || len(found) != 2 {
		t.Errorf("Index finds %v, %v", found, err)
	}
	if keys, err := indexer.IndexKeys("shared", "two"); err != nil || !slices.Equal(keys, []string{"ns/a", "ns/b"}) {
		t.Errorf("IndexKeys: %q, %v", keys, err)
	}
	if !slices.Equal(shared, []string{"one", "two", "one"}) {
		t.Errorf("the shared slice has become %q", shared)
	}
	if _, err := indexer.Index("fails", pod("a")); !errors.Is(err, errRefused) {
		t.Errorf("Index: %v", err)
	}
	_, byIndex := indexer.ByIndex("unknown", "one")
	_, keysErr := indexer.IndexKeys("unknown", "one")
	_, index := indexer.Index("unknown", pod("a"))
	for name, err := range map[string]error{"ByIndex": byIndex, "IndexKeys": keysErr, "Index": index} {
		if err == nil || err.Error() != "Index with name unknown does not exist" {
			t.Errorf("%s of an unknown index: %v", name, err)
		}
	}
	none, err := indexer.ByIndex("shared", "three")
	if err != nil || none == nil || len(none) != 0 {
		t.Errorf("a value that there is not: %#v, %v", none, err)
	}
	delete(indexer.GetIndexers(), "shared")
	if indexer.GetIndexers()["shared"] == nil {
		t.Error("GetIndexers is no copy")
	}
	for _, name := range []string{"a", "b"} {
		if err := indexer.Delete(pod(name)); err != nil {
			t.Fatal(err)
		}
	}
	if values := indexer.ListIndexFuncValues("shared"); len(values) != 0 || len(indexer.ListIndexFuncValues("unknown")) != 0 {
		t.Errorf("the values are %q", values)
	}
}

// controller-runtime calls the functions that it finds, while others are being added.
func TestFact28IndexersWhileAdding(t *testing.T) {
	indexer := clientgo.NewIndexer(clientcache.MetaNamespaceKeyFunc, clientcache.Indexers{"name": byName})
	if err := indexer.Add(pod("a")); err != nil {
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
			if values, err := index(pod("b")); err != nil || values[0] != "b" {
				t.Errorf("an index: %q, %v", values, err)
			}
		}
	}
	<-done
}

// Keys are namespace/name, or name; values are what was stored, without a wrapper.
func TestFact29KeysAndValues(t *testing.T) {
	indexer := clientgo.NewIndexer(clientcache.MetaNamespaceKeyFunc, nil)
	node, stored := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, pod("a")
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
		t.Errorf("of a key that there is not: %v, %v, %v", got, ok, err)
	}
}

// What is stored is what the client has decoded, the same object; packed, it is equal.
func TestFact30ObjectsAreAsDecoded(t *testing.T) {
	for _, packed := range []bool{false, true} {
		t.Run(fmt.Sprintf("packed=%v", packed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer()
				grace := int64(0)
				sent := pod("a")
				sent.Spec = corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}, TerminationGracePeriodSeconds: &grace}
				sent.Annotations = map[string]string{"a": "b"}
				sent = server.Create(sent)
				s := run(t, server, clientgo.Options{Packed: packed})
				got, _, _ := s.informer.GetStore().GetByKey("ns/a")
				if diff := cmp.Diff(sent, got); diff != "" {
					t.Errorf("- sent, + stored:\n%s", diff)
				}
			})
		})
	}
}

// Two reads of an object share its memory; of a packed one as long as somebody holds it.
func TestFact31ReadsShareMemory(t *testing.T) {
	for _, packed := range []bool{false, true} {
		t.Run(fmt.Sprintf("packed=%v", packed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := run(t, newServer("a"), clientgo.Options{Packed: packed})
				first, _, _ := s.informer.GetStore().GetByKey("ns/a")
				runtime.GC()
				second := s.informer.GetStore().List()[0]
				if first != second {
					t.Error("two reads have two objects")
				}
				if reflect.TypeOf(first) != reflect.TypeFor[*corev1.Pod]() {
					t.Errorf("the store has %T", first)
				}
				runtime.KeepAlive(first)
			})
		})
	}
}

// A packed informer cannot keep objects of another type than its example's: they are
// reported, and not stored.
func TestFact31PackedNeedsItsType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := run(t, newServer("a"), clientgo.Options{Packed: true}, func(informer clientcache.SharedIndexInformer) {
			if err := informer.SetTransform(func(obj any) (any, error) { return &corev1.Node{ObjectMeta: obj.(*corev1.Pod).ObjectMeta}, nil }); err != nil {
				t.Error(err)
			}
		})
		<-s.informer.HasSyncedChecker().Done()
		if list := s.informer.GetStore().List(); len(list) != 0 {
			t.Errorf("the store has %v", list)
		}
	})
}
