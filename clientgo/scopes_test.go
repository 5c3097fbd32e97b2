// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

func createPod(server *server, namespace, name string) *corev1.Pod {
	pod := cachetest.Pod(name)
	pod.Namespace = namespace
	return server.Create(pod)
}

// OnDelete receives the last state of an object that has left the scopes: the handler of a program
// with client-go's informers expects a tombstone only if the state may be out of date.
func TestOnDeleteReceivesObjectsOfRemovedScope(t *testing.T) {
	liveAndPacked(t, func(t *testing.T, packed bool) {
		server := newServer()
		createPod(server, "one", "a")
		left := createPod(server, "two", "b")
		createPod(server, "three", "c")
		scopes := cache.NewScopes(cache.Scope{Namespace: "one"}, cache.Scope{Namespace: "two"})
		h := run(t, server, clientgo.Options{Packed: packed, Scopes: func(runtime.Object) *cache.Scopes { return scopes }})
		initial := h.take()
		if slices.Sort(initial); !slices.Equal(initial, []string{"A a@2 initial", "A b@3 initial"}) {
			t.Errorf("the handler received %q", initial)
		}
		pods := corelisters.NewPodLister(h.informer.GetIndexer())
		expectPods(t, pods, "a", "b")

		if err := scopes.Remove(cache.Scope{Namespace: "two"}); err != nil {
			t.Fatal(err)
		}
		h.expectEvents("D b@3")
		if pod, ok := h.last.(*corev1.Pod); !ok || pod.UID != left.UID {
			t.Errorf("OnDelete received a %T", h.last)
		}
		expectPods(t, pods, "a")
		_, err := pods.Pods("two").Get("b") // it exists
		if !errors.Is(err, cache.ErrNoScope) || apierrors.IsNotFound(err) {
			t.Errorf("the lister's error is %v", err)
		}
		for method, get := range map[string]func() (any, bool, error){
			"GetByKey": func() (any, bool, error) { return h.informer.GetStore().GetByKey("two/b") },
			"Get":      func() (any, bool, error) { return h.informer.GetStore().Get(left) },
		} {
			if _, exists, err := get(); exists || !errors.Is(err, cache.ErrNoScope) {
				t.Errorf("%s: exists %v, error %v", method, exists, err)
			}
		}
		if _, err := pods.Pods("one").Get("none"); !apierrors.IsNotFound(err) {
			t.Errorf("an object of a held scope that does not exist: %v", err)
		}

		if err := scopes.Add(cache.Scope{Namespace: "three"}); err != nil {
			t.Fatal(err)
		}
		h.expectEvents("A c@4 initial")
		server.Delete("two/b")
		h.expectEvents()
		expectPods(t, pods, "a", "c")
	})
}

// expectPods checks the names of the Pods that a lister has.
func expectPods(t *testing.T, lister corelisters.PodLister, want ...string) {
	t.Helper()
	pods, err := lister.List(labels.Everything())
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(pods))
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	if slices.Sort(names); !slices.Equal(names, want) {
		t.Errorf("the lister has %q, want %q", names, want)
	}
}

// An informer holds the whole collection if Scopes returns nil for its type.
func TestInformerWithoutScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		var asked []runtime.Object
		h := run(t, server, clientgo.Options{Scopes: func(example runtime.Object) *cache.Scopes {
			asked = append(asked, example)
			return nil
		}})
		h.expectEvents("A a@2 initial")
		if len(asked) != 1 {
			t.Fatalf("Scopes was called %d times", len(asked))
		}
		if _, ok := asked[0].(*corev1.Pod); !ok {
			t.Errorf("Scopes was called for a %T", asked[0])
		}
	})
}

// An informer whose scopes overlap is invalid. It does not sync with an empty store.
func TestInvalidScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scopes := cache.NewScopes(cache.Scope{Namespace: "default"}, cache.Scope{LabelSelector: "app"})
		informer := clientgo.Options{Scopes: func(runtime.Object) *cache.Scopes { return scopes }}.NewInformer(newServer("a"), &corev1.Pod{}, 0, nil)
		informer.RunWithContext(t.Context())
		if status := clientgo.StatusOf(informer); informer.HasSynced() || status.Phase != cache.PhaseInvalid {
			t.Errorf("synced: %v, phase %s, error %v", informer.HasSynced(), status.Phase, status.Err)
		}
	})
}
