// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// byNode is an index function that fails for some values.
func byNode(p *corev1.Pod) ([]string, error) {
	switch p.Spec.NodeName {
	case "":
		return nil, nil
	case "error":
		return nil, errors.New("index error")
	case "panic":
		panic("index panic")
	default:
		return []string{p.Spec.NodeName}, nil
	}
}

func onNode(node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeName = node }
}

func newStore(t *testing.T, pods ...*corev1.Pod) *cache.Store[*corev1.Pod] {
	t.Helper()
	store := cache.NewStore(nil, cache.Indexers[*corev1.Pod]{
		"node":               cache.ByObject(byNode),
		cache.NamespaceIndex: cache.ByMetadata[*corev1.Pod](cache.MetaNamespaceIndexFunc),
	})
	if err := store.Replace(pods, "1"); err != nil {
		t.Fatal(err)
	}
	return store
}

func sorted(keys []string, err error) string {
	if err != nil {
		return err.Error()
	}
	slices.Sort(keys)
	return fmt.Sprint(keys)
}

// TestStoreReadsAndWrites calls every method of a Store.
func TestStoreReadsAndWrites(t *testing.T) {
	a, b := cachetest.Pod("a", cachetest.WithVersion("1"), onNode("n1")), cachetest.Pod("b", cachetest.WithVersion("2"), onNode("n1"))
	store := newStore(t, a, b)
	if got, ok, err := store.Get(cachetest.Pod("a")); got != a || !ok || err != nil {
		t.Errorf("Get: %v, %v, %v", got, ok, err)
	}
	if got, ok := store.GetByKey("ns/b"); got != b || !ok {
		t.Errorf("GetByKey: %v, %v", got, ok)
	}
	if got, ok := store.GetByKey("ns/none"); got != nil || ok {
		t.Errorf("GetByKey of nothing: %v, %v", got, ok)
	}
	if store.Len() != 2 || cachetest.Describe(store.List()) != "a@1 b@2" || sorted(store.ListKeys(), nil) != "[ns/a ns/b]" {
		t.Errorf("stored %v, keys %v", cachetest.Describe(store.List()), store.ListKeys())
	}
	if err := store.Update(cachetest.Pod("a", cachetest.WithVersion("3"), onNode("n2"))); err != nil {
		t.Fatal(err)
	}
	if err := store.Delete(cachetest.Pod("none")); err != nil {
		t.Errorf("Delete of nothing: %v", err)
	}
	if got := sorted(store.IndexKeys("node", "n1")); got != "[ns/b]" {
		t.Errorf("on n1: %s", got)
	}
	if pods, err := store.ByIndex("node", "n2"); err != nil || cachetest.Describe(pods) != "a@3" {
		t.Errorf("on n2: %v, %v", cachetest.Describe(pods), err)
	}
	if got := sorted(store.IndexKeys(cache.NamespaceIndex, "ns")); got != "[ns/a ns/b]" {
		t.Errorf("in ns: %s", got)
	}
	if pods, err := store.ByIndex("none", "x"); err == nil || pods != nil {
		t.Errorf("ByIndex of an unknown index: %v, %v", pods, err)
	}
	if pods, err := store.ByIndex("node", "none"); err != nil || len(pods) != 0 {
		t.Errorf("ByIndex of an unknown value: %v, %v", pods, err)
	}
	// A write stores an object of any version.
	if err := store.Add(cachetest.Pod("a", cachetest.WithVersion("1"))); err != nil || cachetest.Describe(store.List()) != "a@1 b@2" {
		t.Errorf("stored %v, %v", cachetest.Describe(store.List()), err)
	}
}

// TestFailedIndexFunctionOmitsObject checks that an object whose index function fails is stored and
// in the other indexes.
func TestFailedIndexFunctionOmitsObject(t *testing.T) {
	store := newStore(t, cachetest.Pod("a", onNode("n1")))
	for _, node := range []string{"error", "panic", ""} {
		if err := store.Update(cachetest.Pod("a", onNode(node))); err != nil {
			t.Errorf("%q: %v", node, err)
		}
		if got := sorted(store.IndexKeys(cache.NamespaceIndex, "ns")); got != "[ns/a]" {
			t.Errorf("%q: in ns: %s", node, got)
		}
		if values, _ := store.Snapshot().ListIndexValues("node"); len(values) != 0 {
			t.Errorf("%q: indexed under %v", node, values)
		}
	}
	if err := store.Update(cachetest.Pod("a", onNode("n2"))); err != nil || sorted(store.IndexKeys("node", "n2")) != "[ns/a]" {
		t.Errorf("afterwards: %v, %s", err, sorted(store.IndexKeys("node", "n2")))
	}
}

// TestMutatedObjectDoesNotCorruptIndex changes the indexed field of a cached object, which programs
// must not do, and deletes the object. No index finds it afterwards.
func TestMutatedObjectDoesNotCorruptIndex(t *testing.T) {
	a := cachetest.Pod("a", onNode("n1"))
	store := newStore(t, a)
	a.Spec.NodeName = "n2"
	if err := store.Delete(cachetest.Pod("a")); err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"n1", "n2"} {
		if pods, err := store.ByIndex("node", node); err != nil || len(pods) != 0 {
			t.Errorf("on %s after the deletion: %v, %v", node, pods, err)
		}
	}
}

// TestSnapshotsAreImmutable compares snapshots with their content before later writes.
func TestSnapshotsAreImmutable(t *testing.T) {
	store := newStore(t)
	var snapshots []cache.Snapshot[*corev1.Pod]
	var want []string
	for i := range 300 {
		p := cachetest.Pod("p"+strconv.Itoa(i%40), cachetest.WithVersion(strconv.Itoa(i+1)), onNode("n"+strconv.Itoa(i%7)))
		write := store.Add
		if i%5 == 4 {
			write = store.Delete
		}
		if err := write(p); err != nil {
			t.Fatal(err)
		}
		if i == 150 {
			if err := store.Replace([]*corev1.Pod{p}, "9"); err != nil {
				t.Fatal(err)
			}
		}
		snapshots = append(snapshots, store.Snapshot())
		want = append(want, describe(store.Snapshot()))
	}
	for i, s := range snapshots {
		if got := describe(s); got != want[i] {
			t.Fatalf("snapshot %d changed\nfrom %s\nto   %s", i, want[i], got)
		}
	}
}

// describe returns the results of all methods of a snapshot.
func describe(s cache.Snapshot[*corev1.Pod]) string {
	values, err := s.ListIndexValues("node")
	text := fmt.Sprint(s.ResourceVersion(), s.Len(), sorted(s.ListKeys(), nil), cachetest.Describe(s.List()), sorted(values, err))
	for _, value := range values {
		pods, err := s.ByIndex("node", value)
		text += fmt.Sprint(value, sorted(s.IndexKeys("node", value)), cachetest.Describe(pods), err)
	}
	for key, p := range s.All() {
		byKey, ok := s.GetByKey(key)
		text += fmt.Sprint(key, cachetest.NameAtVersion(p), ok, byKey == p)
	}
	return text
}

// TestConcurrentReadersSeeOneReplace reads a store during calls of Replace, each of which sets all
// Pods to one version. Every read shows Pods of one version.
func TestConcurrentReadersSeeOneReplace(t *testing.T) {
	const pods, rounds = 30, 100
	store := newStore(t)
	round := func(n int) []*corev1.Pod {
		all := make([]*corev1.Pod, pods)
		for i := range all {
			all[i] = cachetest.Pod("p"+strconv.Itoa(i), cachetest.WithVersion(strconv.Itoa(n)), onNode("n"+strconv.Itoa(n%2)))
		}
		return all
	}
	if err := store.Replace(round(1), "1"); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for !stop.Load() {
				s := store.Snapshot()
				expectOneVersion(t, s.List(), pods, s.ResourceVersion())
				expectOneVersion(t, store.List(), pods, "")
				on0, err0 := s.ByIndex("node", "n0")
				on1, err1 := s.ByIndex("node", "n1")
				if len(on0)+len(on1) != pods || len(on0)*len(on1) != 0 || errors.Join(err0, err1) != nil {
					t.Errorf("%d Pods on n0 and %d on n1", len(on0), len(on1))
				}
				if p, ok := store.GetByKey("ns/p7"); !ok || p.Name != "p7" {
					t.Errorf("p7 is %v", p)
				}
			}
		})
	}
	for n := 2; n < rounds; n++ {
		if err := store.Replace(round(n), strconv.Itoa(n)); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	readers.Wait()
}

func expectOneVersion(t *testing.T, pods []*corev1.Pod, count int, rv string) {
	t.Helper()
	if len(pods) != count {
		t.Errorf("%d Pods", len(pods))
		return
	}
	if rv == "" {
		rv = pods[0].ResourceVersion
	}
	for _, p := range pods {
		if p.ResourceVersion != rv {
			t.Errorf("read %s, want version %s", cachetest.NameAtVersion(p), rv)
			return
		}
	}
}

// TestMetaNamespaceKeys joins and splits keys.
func TestMetaNamespaceKeys(t *testing.T) {
	cluster := cachetest.Pod("n")
	cluster.Namespace = ""
	for _, p := range []*corev1.Pod{cachetest.Pod("a"), cluster} {
		key, err := cache.MetaNamespaceKeyFunc(p)
		namespace, name, splitErr := cache.SplitMetaNamespaceKey(key)
		if err != nil || splitErr != nil || namespace != p.Namespace || name != p.Name {
			t.Errorf("%q: %v; split %q, %q, %v", key, err, namespace, name, splitErr)
		}
	}
	for key, want := range map[string]string{"": "/", "a": "/a", "ns/a": "ns/a", "ns/": "ns/", "/a": "/a"} {
		if namespace, name, err := cache.SplitMetaNamespaceKey(key); err != nil || namespace+"/"+name != want {
			t.Errorf("split %q: %q, %q, %v", key, namespace, name, err)
		}
	}
	for _, key := range []string{"a/b/c", "//", "a/b/"} {
		if _, _, err := cache.SplitMetaNamespaceKey(key); err == nil || !cachetest.ErrorContains(strconv.Quote(key))(err) {
			t.Errorf("split %q: %v", key, err)
		}
	}
	if _, err := cache.MetaNamespaceKeyFunc[*corev1.Pod](nil); err == nil {
		t.Error("nil has a key")
	}
}

// TestAllIsSorted iterates over unsorted objects, and breaks out of the loop before the last.
func TestAllIsSorted(t *testing.T) {
	store := newStore(t, cachetest.Pod("d"), cachetest.Pod("b"), cachetest.Pod("c"), cachetest.Pod("a"))
	for name, all := range map[string]iter.Seq2[string, *corev1.Pod]{"Reader": store.All(), "Snapshot": store.Snapshot().All()} {
		var keys []string
		for key, pod := range all {
			if "ns/"+pod.Name != key {
				t.Errorf("%s: %s under %s", name, pod.Name, key)
			}
			if keys = append(keys, key); len(keys) == 3 {
				break
			}
		}
		if !slices.Equal(keys, []string{"ns/a", "ns/b", "ns/c"}) {
			t.Errorf("%s: keys %q", name, keys)
		}
	}
}

// TestStoreHoldsObjectsOfEachForm writes and reads objects behind a pointer, behind an interface,
// and in a struct.
func TestStoreHoldsObjectsOfEachForm(t *testing.T) {
	expectStored(t, cachetest.Pod("a"))
	expectStored(t, cache.Object(cachetest.Pod("a")))
	expectStored(t, podValue{cachetest.Pod("a")})
}

func expectStored[T interface {
	comparable
	cache.Object
}](t *testing.T, obj T) {
	t.Helper()
	s := cache.NewStore(nil, cache.Indexers[T]{cache.NamespaceIndex: cache.ByMetadata[T](cache.MetaNamespaceIndexFunc)})
	if objs := s.List(); objs == nil || len(objs) != 0 {
		t.Errorf("%T: an empty store lists %v", obj, objs)
	}
	if err := s.Add(obj); err != nil {
		t.Fatal(err)
	}
	if err := s.Replace([]T{obj}, "1"); err != nil {
		t.Fatal(err)
	}
	if got, exists, err := s.Get(obj); got != obj || !exists || err != nil {
		t.Errorf("Get returns %v, %v, %v", got, exists, err)
	}
	if got, exists := s.GetByKey("ns/b"); got != *new(T) || exists {
		t.Errorf("%T: GetByKey of an unknown key returns %v, %v", obj, got, exists)
	}
	if got, err := s.ByIndex(cache.NamespaceIndex, "ns"); err != nil || !slices.Equal(got, []T{obj}) {
		t.Errorf("%T: ByIndex returns %v, %v", obj, got, err)
	}
	if got, err := s.ByIndex(cache.NamespaceIndex, "other"); err != nil || got != nil {
		t.Errorf("%T: ByIndex of an unknown value returns %v, %v", obj, got, err)
	}
	if got := s.List(); !slices.Equal(got, []T{obj}) || !maps.Equal(maps.Collect(s.All()), map[string]T{"ns/a": obj}) {
		t.Errorf("%T: List returns %v", obj, got)
	}
}
