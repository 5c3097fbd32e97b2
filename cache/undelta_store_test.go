// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// pushRecorder is a PushFunc that records pushes.
type pushRecorder struct {
	mu  sync.Mutex
	all []string
}

func (p *pushRecorder) push(pods []*corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, "["+cachetest.Describe(pods)+"]")
}

func (p *pushRecorder) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.all
	p.all = nil
	return fmt.Sprint(all)
}

// TestUndeltaStorePushesEachChange checks that each change pushes the whole content once.
func TestUndeltaStorePushesEachChange(t *testing.T) {
	var pushed pushRecorder
	store := cache.NewUndeltaStore(pushed.push, nil)
	expect := func(want string, err error) {
		t.Helper()
		if got := pushed.take(); err != nil || got != want {
			t.Errorf("pushed %s, %v, want %s", got, err, want)
		}
	}
	expect("[[a@1]]", store.Add(cachetest.Pod("a", cachetest.WithVersion("1"))))
	expect("[[a@1 b@2]]", store.Add(cachetest.Pod("b", cachetest.WithVersion("2"))))
	expect("[[a@3 b@2]]", store.Update(cachetest.Pod("a", cachetest.WithVersion("3"))))
	expect("[[b@2]]", store.Delete(cachetest.Pod("a")))
	expect("[[c@4 d@5]]", store.Replace([]*corev1.Pod{cachetest.Pod("c", cachetest.WithVersion("4")), cachetest.Pod("d", cachetest.WithVersion("5"))}, "5"))
	expect("[[]]", store.Replace(nil, ""))
	if err := store.Add(cachetest.Pod("")); err == nil || pushed.take() != "[]" {
		t.Errorf("a failed change pushed, or returned %v", err)
	}
	if err := (&cache.UndeltaStore[*corev1.Pod]{Store: store.Store}).Add(cachetest.Pod("a")); err == nil {
		t.Error("Add without a PushFunc returned no error")
	}
}

// TestUndeltaStorePushesNewSlice checks that the receiver may modify the pushed slice, which has
// the store's objects.
func TestUndeltaStorePushesNewSlice(t *testing.T) {
	var last []*corev1.Pod
	store := cache.NewUndeltaStore(func(pods []*corev1.Pod) { last = pods }, nil)
	a := cachetest.Pod("a")
	if err := store.Add(a); err != nil {
		t.Fatal(err)
	}
	if last[0] != a {
		t.Error("the pushed object is not the added one")
	}
	clear(last)
	if got, ok := store.GetByKey("ns/a"); !ok || got != a {
		t.Error("writing into the pushed slice changed the store")
	}
}

// TestUndeltaStoreConcurrentChanges adds Pods in several goroutines. There is one push for each,
// one at a time, no push has less than an earlier one, and the last has all Pods. Add returns after
// a push that has its Pod.
func TestUndeltaStoreConcurrentChanges(t *testing.T) {
	const writers, each = 8, 50
	var pushing sync.Mutex
	var mu sync.Mutex // guards last
	var last []string
	count := 0
	store := cache.NewUndeltaStore(func(pods []*corev1.Pod) {
		if !pushing.TryLock() {
			t.Error("two concurrent pushes")
			return
		}
		defer pushing.Unlock()
		count++
		names := make([]string, 0, len(pods))
		for _, p := range pods {
			names = append(names, p.Name)
		}
		slices.Sort(names)
		mu.Lock()
		defer mu.Unlock()
		for _, name := range last {
			if _, ok := slices.BinarySearch(names, name); !ok {
				t.Errorf("%s is missing from a later push", name)
			}
		}
		last = names
	}, nil)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				name := fmt.Sprintf("p-%d-%d", w, i)
				if err := store.Add(cachetest.Pod(name)); err != nil {
					t.Error(err)
				}
				mu.Lock()
				if _, ok := slices.BinarySearch(last, name); !ok {
					t.Errorf("%s is in no push after Add", name)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if count != writers*each || len(last) != writers*each || store.Len() != writers*each {
		t.Errorf("%d pushes, %d Pods in the last, %d stored, want %d", count, len(last), store.Len(), writers*each)
	}
}

// TestUndeltaStoreWithReflector checks the pushes of events and of a relist.
func TestUndeltaStoreWithReflector(t *testing.T) {
	var pushed pushRecorder
	store := cache.NewUndeltaStore(pushed.push, nil)
	runWithReflector(t, store, func(r *cachetest.Harness) {
		expect := func(want string) {
			t.Helper()
			synctest.Wait()
			if got := pushed.take(); got != want {
				t.Errorf("pushed %s, want %s", got, want)
			}
		}
		expect("[[a@2 b@3 c@4]]")
		r.Update(cachetest.Pod("a"))
		r.Delete("ns/b")
		expect("[[a@5 b@3 c@4] [a@5 c@4]]")

		// There is no push for a replayed event, the deletion of an unknown object or a bookmark.
		r.Send(watch.Event{Type: watch.Modified, Object: must(r.Get("ns/a"))})
		r.Send(watch.Event{Type: watch.Deleted, Object: cachetest.Pod("ghost", cachetest.WithVersion("6"))})
		r.SkipVersions(1)
		r.Send(watch.Event{Type: watch.Deleted, Object: cachetest.Pod("ghost", cachetest.WithVersion("7"))})
		r.Bookmark()
		expect("[]")

		// There is none for a deletion with an older version than the stored one.
		r.Send(watch.Event{Type: watch.Deleted, Object: cachetest.Pod("a", cachetest.WithVersion("4"))})
		expect("[]")
		r.ExpectError(cachetest.ErrorIs(reflector.ErrStale))

		// The resumed watch does not repeat the deletions of unknown objects, but these are absent.
		cachetest.Advance(20 * time.Second)
		expect("[]")
		r.ExpectNoError()

		// A relist is one push. An unchanged object is not replaced, so it keeps what its owner has
		// written into it.
		c, _ := store.GetByKey("ns/c")
		c.Annotations = map[string]string{"kubelet": "yes"}
		r.Expire()
		r.Update(cachetest.Pod("a"))
		r.Create(cachetest.Pod("d"))
		cachetest.Advance(5 * time.Second)
		expect("[[a@8 c@4 d@9]]")
		if again, _ := store.GetByKey("ns/c"); again != c {
			t.Error("an unchanged object was replaced by a relist")
		}
	})
}

// TestUndeltaStorePushesEmptyList checks that the first list is pushed even if it is empty, as the
// receiver may wait for it.
func TestUndeltaStorePushesEmptyList(t *testing.T) {
	var pushed pushRecorder
	runWithReflector(t, cache.NewUndeltaStore(pushed.push, nil), func(*cachetest.Harness) {
		if got := pushed.take(); got != "[[]]" {
			t.Errorf("pushed %s", got)
		}
	}, func(r *cachetest.Harness) {
		for _, name := range []string{"a", "b", "c"} {
			r.Delete("ns/" + name)
		}
	})
}

// rejectingStore is a program's own store that rejects states.
type rejectingStore struct {
	cache.ReflectorStore[*corev1.Pod]

	rejects func(p *corev1.Pod) error
}

var errRejected = errors.New("rejected")

func (s rejectingStore) Add(p *corev1.Pod) error {
	if err := s.rejects(p); err != nil {
		return err
	}
	return s.ReflectorStore.Add(p)
}

func (s rejectingStore) Update(p *corev1.Pod) error { return s.Add(p) }

// TestReflectorReportsStoreErrors checks that an error of the store is reported with the object's
// key, that other objects are stored, and that the object is requested again.
func TestReflectorReportsStoreErrors(t *testing.T) {
	store := cache.NewStore[*corev1.Pod](nil, nil)
	rejects := func(p *corev1.Pod) error {
		if p.ResourceVersion == "5" {
			return errRejected
		}
		return nil
	}
	runWithReflector(t, rejectingStore{store, rejects}, func(r *cachetest.Harness) {
		r.Update(cachetest.Pod("a"))
		r.Update(cachetest.Pod("b"))
		synctest.Wait()
		if got := cachetest.Describe(store.List()); got != "a@2 b@6 c@4" {
			t.Errorf("stored [%s]", got)
		}
		var object *cache.ObjectError
		if errs := r.TakeErrors(); len(errs) != 1 || !errors.As(errs[0], &object) || object.Key != "ns/a" || !errors.Is(errs[0], errRejected) {
			t.Errorf("errors %v", errs)
		}
		cachetest.Advance(12 * time.Minute) // longer than the watch
		r.ExpectError(cachetest.ErrorIs(reflector.ErrQuarantined))
		if got := cachetest.Describe(store.List()); got != "a@5 b@6 c@4" {
			t.Errorf("stored [%s]", got)
		}
	})
}
