// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	clientcache "k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestReflectorCallsTheStore checks which methods of the store a list, each type of event, a
// bookmark and a relist call, with and without WatchList.
func TestReflectorCallsTheStore(t *testing.T) {
	for name, watchList := range map[string]bool{"list": false, "WatchList": true} {
		t.Run(name, func(t *testing.T) {
			featurestesting.SetFeatureDuringTest(t, features.WatchListClient, watchList)
			forEachReflector(t, func(t *testing.T, newReflector newReflectorFunc) {
				server, store := newServer("a", "b"), &versionRecorder{}
				r := newReflector(server, store, clientcache.ReflectorOptions{}, reflectorFields{})
				runReflector(t, r)
				store.expect(t, "Replace a@2 b@3 at 3")
				if got, want := server.verbs(), map[bool]string{false: "lw", true: "W"}[watchList]; got != want {
					t.Errorf("requests %q, want %q", got, want)
				}
				server.Create(cachetest.Pod("c"))
				server.Update(cachetest.Pod("a"))
				server.Delete("ns/b")
				store.expect(t, "Add c@4", "Version 4", "Update a@5", "Version 5", "Delete b@6", "Version 6")
				server.SkipVersions(1)
				server.Bookmark()
				store.expect(t, "Bookmark 7", "Version 7")
				if got := r.LastSyncResourceVersion(); got != "7" {
					t.Errorf("LastSyncResourceVersion returned %q, want 7", got)
				}
				server.relist()
				store.expect(t, "Replace a@5 c@4 at 7")
			})
		})
	}
}

// TestReflectorOfFakes checks the calls of the store for sources without resourceVersions or names,
// or with a list of another type. Without a version, ADDED events may belong to the initial state.
func TestReflectorOfFakes(t *testing.T) {
	forEachReflector(t, func(t *testing.T, newReflector newReflectorFunc) {
		server, store := newScriptedServer(), &versionRecorder{}
		server.ListFunc = func(metav1.ListOptions) (runtime.Object, error) {
			return &corev1.PodList{Items: []corev1.Pod{*cachetest.Pod("a"), *cachetest.Pod(""), *cachetest.Pod("")}}, nil
		}
		stop := runReflector(t, newReflector(server, store, clientcache.ReflectorOptions{}, reflectorFields{}))
		for _, event := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
			server.send(event, cachetest.Pod("b"))
		}
		store.expect(t, "Replace   a at ", "Add b", "Update b", "Version ", "Delete b", "Version ")
		stop()
		store.take()

		source := fcache.NewFakeControllerSource()
		t.Cleanup(source.Shutdown) // after the end of the run
		source.Add(cachetest.Pod("a"))
		runReflector(t, newReflector(source, store, clientcache.ReflectorOptions{}, reflectorFields{}))
		source.Modify(cachetest.Pod("a"))
		source.Delete(cachetest.Pod("a"))
		store.expect(t, "Replace a@1 at 1", "Update a@2", "Version 2", "Delete a@3", "Version 3")
	})
}

// TestReflectorGoesOnAfterAnErrorOfTheStore checks that an error of Add, Update or Delete does not
// end the watch, and that a list whose Replace fails is repeated.
func TestReflectorGoesOnAfterAnErrorOfTheStore(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, false)
	forEachReflector(t, func(t *testing.T, newReflector newReflectorFunc) {
		server, store := newServer("a"), &callRecorder{}
		store.failReplace(errRefused)
		runReflector(t, newReflector(server, store, clientcache.ReflectorOptions{}, reflectorFields{}))
		store.expect(t, "Replace a@2 at 2")
		cachetest.Advance(5 * time.Second)
		if got := store.take(); len(got) == 0 || got[0] != "Replace a@2 at 2" {
			t.Errorf("after a failed Replace, the store received %q", got)
		}
		store.failReplace(nil)
		cachetest.Advance(time.Minute)
		store.take()
		server.Create(cachetest.Pod("bad"))
		server.Update(cachetest.Pod("bad"))
		server.Delete("ns/bad")
		server.Update(cachetest.Pod("a"))
		store.expect(t, "Add bad@3", "Update bad@4", "Delete bad@5", "Update a@6")
		cachetest.Advance(time.Hour)
		store.expect(t)
	})
}

// TestReflectorResyncsTheStore checks that Resync is called once in each period after the first
// list, unless ShouldResync returns false.
func TestReflectorResyncsTheStore(t *testing.T) {
	forEachReflector(t, func(t *testing.T, newReflector newReflectorFunc) {
		store, should := &callRecorder{}, false
		r := newReflector(newServer(), store, clientcache.ReflectorOptions{ResyncPeriod: 10 * time.Second},
			reflectorFields{shouldResync: func() bool { should = !should; return should }})
		stop := runReflector(t, r)
		store.expect(t, "Replace  at 1")
		cachetest.Advance(9 * time.Second)
		store.expect(t)
		cachetest.Advance(time.Second)
		store.expect(t, "Resync")
		cachetest.Advance(10 * time.Second)
		store.expect(t)
		cachetest.Advance(10 * time.Second)
		store.expect(t, "Resync")
		stop()
		cachetest.Advance(time.Minute)
		store.expect(t)

		runReflector(t, newReflector(newServer(), store, clientcache.ReflectorOptions{ResyncPeriod: time.Second}, reflectorFields{}))
		cachetest.Advance(2 * time.Second)
		store.expect(t, "Replace  at 1", "Resync", "Resync")
	})
}

// TestListAndWatchReturns checks how ListAndWatch ends: with the error of a list and of a watch
// that cannot be opened, with nil after a watch that has expired, and once it is stopped.
func TestListAndWatchReturns(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, false)
	forEachReflector(t, func(t *testing.T, newReflector newReflectorFunc) {
		server := newServer("a")
		r := newReflector(server, &callRecorder{}, clientcache.ReflectorOptions{}, reflectorFields{})
		server.InjectListFault(1, fake.Fault{Err: errRefused})
		if err := r.ListAndWatch(wait.NeverStop); !errors.Is(err, errRefused) || err.Error() != "failed to list *v1.Pod: refused" {
			t.Errorf("after a failed list, it returned %v", err)
		}
		expired := apierrors.NewResourceExpired("gone")
		server.InjectWatchFault(1, fake.Fault{Err: expired})
		if err := r.ListAndWatchWithContext(t.Context()); !errors.Is(err, expired) {
			t.Errorf("after a watch that was not opened, it returned %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		for _, end := range []func(){server.sendExpired, cancel} {
			ended := make(chan error, 1)
			go func() { ended <- r.ListAndWatchWithContext(ctx) }()
			cachetest.Advance(time.Minute)
			end()
			if err := <-ended; err != nil {
				t.Errorf("after the end of the watch, it returned %v", err)
			}
		}
	})
}

// TestReflectorOptions checks the page size, the least timeout of a watch, and the backoff.
func TestReflectorOptions(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, false)
	forEachReflector(t, func(t *testing.T, newReflector newReflectorFunc) {
		server := newServer("a", "b")
		server.InjectListFault(1, fake.Fault{Err: errRefused})
		runReflector(t, newReflector(server, &callRecorder{}, clientcache.ReflectorOptions{
			MinWatchTimeout: time.Hour,
			Backoff:         &wait.Backoff{Duration: 20 * time.Second, Factor: 1, Steps: 1},
		}, reflectorFields{pageSize: 1}))
		cachetest.Advance(19 * time.Second)
		if got := server.verbs(); got != "l" {
			t.Errorf("requests %q before the backoff has passed, want l", got)
		}
		cachetest.Advance(time.Second)
		if got := server.verbs(); got != "llw" {
			t.Fatalf("requests %q, want a failed list, a list and a watch", got)
		}
		requests := server.Requests()
		if limit := requests[1].Options.Limit; limit != 1 {
			t.Errorf("limit %d, want 1", limit)
		}
		if timeout := *requests[2].Options.TimeoutSeconds; timeout < 3600 || timeout > 7200 {
			t.Errorf("timeout %d s, want one or two hours", timeout)
		}
	})
}

// TestReflectorBackoffSpacesTheFirstRefusedWatch checks that the Backoff spaces five watches whose
// connections are refused, the first of which may be a WatchList, as a test of client-go does.
func TestReflectorBackoffSpacesTheFirstRefusedWatch(t *testing.T) {
	for name, watchList := range map[string]bool{"list": false, "WatchList": true} {
		t.Run(name, func(t *testing.T) {
			featurestesting.SetFeatureDuringTest(t, features.WatchListClient, watchList)
			forEachReflector(t, func(t *testing.T, newReflector newReflectorFunc) {
				server := newServer("a")
				server.InjectWatchFault(5, fake.Fault{Err: cachetest.ErrConnectionRefused})
				began := time.Now()
				runReflector(t, newReflector(server, &callRecorder{}, clientcache.ReflectorOptions{
					Backoff: &wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Steps: 100, Cap: 100 * time.Millisecond},
				}, reflectorFields{}))
				for synctest.Wait(); server.OpenWatches() == 0; {
					cachetest.Advance(time.Millisecond)
				}
				if got, want := time.Since(began), 250*time.Millisecond; got != want {
					t.Errorf("the sixth watch is open after %v, want %v: delays of 10, 20, 40, 80 and 100 ms", got, want)
				}
			})
		})
	}
}

// TestReflectorWithoutBackoffDelayDoesNotRun checks that a Backoff with steps and no delay, which
// would make requests without a pause, is an error.
func TestReflectorWithoutBackoffDelayDoesNotRun(t *testing.T) {
	server := newServer("a")
	options := clientcache.ReflectorOptions{Backoff: &wait.Backoff{Factor: 2, Steps: 3}}
	r := newReflector(server, &callRecorder{}, options, reflectorFields{})
	err := r.ListAndWatch(t.Context().Done())
	if !cachetest.ErrorContains("Backoff.Duration 0s is not positive, with Steps 3")(err) {
		t.Errorf("ListAndWatch returned %v, want an error that names Backoff.Duration", err)
	}
	r.Run(t.Context().Done()) // returns
	if requests := server.verbs(); requests != "" {
		t.Errorf("requests %q, want none", requests)
	}
}

// TestReflectorNames checks the defaults of Name and TypeDescription.
func TestReflectorNames(t *testing.T) {
	kind := &unstructured.Unstructured{}
	kind.SetAPIVersion("example.com/v1")
	kind.SetKind("Widget")
	for _, expected := range []any{nil, &corev1.Pod{}, corev1.Pod{}, "a string", &unstructured.Unstructured{}, kind} {
		want := clientcache.NewReflector(newServer(), expected, &callRecorder{}, 0)
		got := clientgo.With(clientgo.Options{}).NewReflector(newServer(), expected, &callRecorder{}, 0)
		if got.TypeDescription() != want.TypeDescription() {
			t.Errorf("type %q of %T, want %q", got.TypeDescription(), expected, want.TypeDescription())
		}
		if name := got.Name(); !strings.Contains(name, "reflector_test.go:") {
			t.Errorf("name %q, want the file and line of the call", name)
		}
	}
	options := clientcache.ReflectorOptions{Name: "name", TypeDescription: "type"}
	r := clientgo.With(clientgo.Options{}).NewReflectorWithOptions(newServer(), &corev1.Pod{}, &callRecorder{}, options)
	if r.Name() != "name" || r.TypeDescription() != "type" || r.LastSyncResourceVersion() != "" {
		t.Errorf("name %q, type %q, version %q", r.Name(), r.TypeDescription(), r.LastSyncResourceVersion())
	}
}

// TestReflectorRunsAgain checks that a reflector does not run twice at a time, and that a later run
// goes on from the version reached.
func TestReflectorRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, store := newServer("a"), &callRecorder{}
		r := newReflector(server, store, clientcache.ReflectorOptions{}, reflectorFields{})
		stop := runReflector(t, r)
		r.Run(nil) // returns
		if err := r.ListAndWatch(nil); err == nil {
			t.Error("ListAndWatch returned nil while the reflector runs")
		}
		stop()
		runReflector(t, r)
		store.expect(t, "Replace a@2 at 2", "Replace a@2 at 2")
		if got := server.OpenWatches(); got != 1 {
			t.Errorf("%d watches are open, want 1", got)
		}
	})
}

// transformingStore is a recorder whose transform renames objects, and refuses those called "bad".
type transformingStore struct{ callRecorder }

func (*transformingStore) Transformer() clientcache.TransformFunc {
	return func(obj any) (any, error) {
		pod := obj.(*corev1.Pod)
		if pod.Name == "bad" {
			return nil, errRefused
		}
		return cachetest.Pod("new-" + pod.Name), nil
	}
}

// TestReflectorAppliesTheStoresTransform checks that the objects of an initial state are passed to
// Replace transformed, and watch events as they were received: the store transforms those.
func TestReflectorAppliesTheStoresTransform(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, true)
	forEachReflector(t, func(t *testing.T, newReflector newReflectorFunc) {
		server, store := newServer("a", "b", "bad"), &transformingStore{}
		runReflector(t, newReflector(server, store, clientcache.ReflectorOptions{}, reflectorFields{}))
		server.Create(cachetest.Pod("c"))
		store.expect(t, "Replace new-a new-b at 4", "Add c@5")
	})
}

// itemStore is a recorder that takes lists object by object.
type itemStore struct{ callRecorder }

func (s *itemStore) BeginReplace() clientgo.ItemReplacement {
	s.record("Begin")
	return &itemReplacement{s}
}

type itemReplacement struct{ store *itemStore }

func (r *itemReplacement) Add(obj any) error    { return r.store.write("Add item", obj) }
func (r *itemReplacement) Delete(obj any) error { return r.store.write("Delete item", obj) }

func (r *itemReplacement) Commit(resourceVersion string) error {
	r.store.record("Commit " + resourceVersion)
	return r.store.replaced()
}

// TestItemReplacerTakesListsByObject checks the calls of such a store for a list that fails at its
// second page, an error of Commit, and a relist.
func TestItemReplacerTakesListsByObject(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, false)
	synctest.Test(t, func(t *testing.T) {
		server, store := newServer("a", "bad"), &itemStore{}
		store.failReplace(errRefused)
		server.InjectListFault(1, fake.Fault{EditList: func(list runtime.Object) runtime.Object {
			pods := list.(*corev1.PodList)
			pods.Items, pods.Continue = pods.Items[:1], "the next page"
			return pods
		}})
		server.InjectListFault(1, fake.Fault{Err: fake.InternalError()})
		runReflector(t, newReflector(server, store, clientcache.ReflectorOptions{}, reflectorFields{}))
		store.expect(t, "Begin", "Add item a@2")
		cachetest.Advance(2 * time.Second)
		store.expect(t, "Begin", "Add item a@2", "Add item bad@3", "Commit 3")
		store.failReplace(nil)
		cachetest.Advance(time.Minute)
		store.expect(t, "Begin", "Add item a@2", "Add item bad@3", "Commit 3")
		server.Update(cachetest.Pod("a"))
		store.expect(t, "Update a@4")
		server.relist()
		store.expect(t, "Begin", "Add item a@4", "Add item bad@3", "Commit 4")
	})
}

// TestNamespaceKeyedIndexerAndReflector checks that the indexer has the reflector's objects.
func TestNamespaceKeyedIndexerAndReflector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a", "b")
		indexer, r := clientgo.With(clientgo.Options{}).NewNamespaceKeyedIndexerAndReflector(server, &corev1.Pod{}, 0)
		runReflector(t, r)
		server.Delete("ns/b")
		synctest.Wait()
		found, err := indexer.ByIndex(clientcache.NamespaceIndex, "ns")
		if err != nil || len(found) != 1 || nameAtVersion(found[0]) != "a@2" {
			t.Errorf("the index by namespace has %v, %v", found, err)
		}
	})
}
