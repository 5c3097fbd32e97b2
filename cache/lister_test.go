// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestListerSelectsByNamespaceAndLabels reads with and without a namespace index.
func TestListerSelectsByNamespaceAndLabels(t *testing.T) {
	for name, indexers := range map[string]cache.Indexers[*corev1.Pod]{
		"indexed": {cache.NamespaceIndex: cache.ByMetadata[*corev1.Pod](cache.MetaNamespaceIndexFunc)}, "no index": nil,
	} {
		t.Run(name, func(t *testing.T) {
			store := cache.NewStore(nil, indexers)
			for _, p := range []*corev1.Pod{cachetest.Pod("a", cachetest.WithLabel("x", "1")), cachetest.Pod("b"), {ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "c", Labels: map[string]string{"x": "1"}}}} {
				if err := store.Add(p); err != nil {
					t.Fatal(err)
				}
			}
			lister := cache.NewLister[*corev1.Pod](store.Reader, corev1.Resource("pods"))
			x1 := labels.SelectorFromSet(labels.Set{"x": "1"})
			for _, c := range []struct {
				got  []*corev1.Pod
				want string
			}{
				{lister.List(nil), "a@ b@ c@"},
				{lister.List(labels.Everything()), "a@ b@ c@"},
				{lister.List(x1), "a@ c@"},
				{lister.Namespace("ns").List(nil), "a@ b@"},
				{lister.Namespace("ns").List(x1), "a@"},
				{lister.Namespace("none").List(nil), ""},
			} {
				if got := cachetest.Describe(c.got); got != c.want {
					t.Errorf("listed [%s], want [%s]", got, c.want)
				}
			}
			if p, err := lister.Namespace("ns").Get("a"); err != nil || p.Name != "a" {
				t.Errorf("Get: %v, %v", p, err)
			}
			if p, err := lister.Namespace("other").Get("a"); p != nil || !apierrors.IsNotFound(err) || !cachetest.ErrorContains(`pods "a"`)(err) {
				t.Errorf("Get: %v, %v", p, err)
			}
		})
	}
}

// TestListerUsesNamespaceIndex declares a NamespaceIndex that returns another namespace than the
// object's, which shows that the Lister reads it.
func TestListerUsesNamespaceIndex(t *testing.T) {
	elsewhere := func(cache.Metadata) ([]string, error) { return []string{"elsewhere"}, nil }
	for name, options := range map[string]cache.InformerOptions[*corev1.Pod]{
		"by object":   {Indexers: cache.Indexers[*corev1.Pod]{cache.NamespaceIndex: cache.ByObject(func(p *corev1.Pod) ([]string, error) { return elsewhere(p) })}},
		"by metadata": {Indexers: cache.Indexers[*corev1.Pod]{cache.NamespaceIndex: cache.ByMetadata[*corev1.Pod](elsewhere)}},
		"packed":      {Indexers: cache.Indexers[*corev1.Pod]{cache.NamespaceIndex: cache.ByMetadata[*corev1.Pod](elsewhere)}, Packed: true},
	} {
		server := fake.NewListerWatcher(&corev1.Pod{})
		server.Create(cachetest.Pod("a"))
		lister := cache.NewLister(runInformer(t, server, &corev1.Pod{}, options).Store(), corev1.Resource("pods"))
		if found := cachetest.Describe(lister.Namespace("elsewhere").List(nil)); found != "a@2" {
			t.Errorf("%s: the index finds [%s]", name, found)
		}
		if found := cachetest.Describe(lister.Namespace("ns").List(nil)); found != "" {
			t.Errorf("%s: found [%s] without the index", name, found)
		}
	}
}

// TestListerSaysThatTheNamespaceIsMissing gets objects by name alone.
func TestListerSaysThatTheNamespaceIsMissing(t *testing.T) {
	store := cache.NewStore[*corev1.Pod](nil, nil)
	lister := cache.NewLister[*corev1.Pod](store.Reader, corev1.Resource("pods"))
	if _, err := lister.Get("a"); !apierrors.IsNotFound(err) {
		t.Errorf("from an empty store: %v, want NotFound", err)
	}
	if err := store.Add(cachetest.Pod("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := lister.Get("a"); apierrors.IsNotFound(err) || !cachetest.ErrorContains(`pods "a"`)(err) || !cachetest.ErrorContains("use Namespace")(err) {
		t.Errorf("without a namespace: %v", err)
	}
	for _, missing := range []string{"ns/b", "other/a"} {
		if _, err := lister.Get(missing); !apierrors.IsNotFound(err) {
			t.Errorf("by key: %v, want NotFound", err)
		}
	}
	if _, err := lister.Namespace("ns").Get("b"); !apierrors.IsNotFound(err) {
		t.Errorf("in the namespace: %v, want NotFound", err)
	}

	nodes := cache.NewStore[*corev1.Node](nil, nil)
	if err := nodes.Add(cachetest.Node("a", "1")); err != nil {
		t.Fatal(err)
	}
	if _, err := cache.NewLister[*corev1.Node](nodes.Reader, corev1.Resource("nodes")).Get("b"); !apierrors.IsNotFound(err) {
		t.Errorf("of objects without namespaces: %v, want NotFound", err)
	}
}

// TestZeroValuesAreEmpty reads the zero values of Snapshot and Lister.
func TestZeroValuesAreEmpty(t *testing.T) {
	var snapshot cache.Snapshot[*corev1.Pod]
	if _, ok := snapshot.GetByKey("ns/a"); ok || snapshot.Len() != 0 || len(snapshot.List()) != 0 || len(snapshot.ListKeys()) != 0 || snapshot.ResourceVersion() != "" {
		t.Error("the zero Snapshot is not empty")
	}
	for key := range snapshot.All() {
		t.Errorf("the zero Snapshot has %q", key)
	}
	_, byIndex := snapshot.ByIndex("node", "a")
	_, keys := snapshot.IndexKeys("node", "a")
	_, values := snapshot.ListIndexValues("node")
	if byIndex == nil || keys == nil || values == nil {
		t.Errorf("errors of the zero Snapshot: %v, %v, %v", byIndex, keys, values)
	}
	var lister cache.Lister[*corev1.Pod]
	if _, err := lister.Namespace("ns").Get("a"); err == nil || apierrors.IsNotFound(err) || len(lister.List(nil)) != 0 {
		t.Errorf("the zero Lister: %v", err)
	}
}
