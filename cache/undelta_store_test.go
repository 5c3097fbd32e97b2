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
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// pushes are what an UndeltaStore has pushed.
type pushes struct {
	mu  sync.Mutex
	all []string
}

func (p *pushes) push(pods []*corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, "["+cachetest.Describe(pods)+"]")
}

func (p *pushes) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.all
	p.all = nil
	return fmt.Sprint(all)
}

// One push for each change, each the whole state.
func TestUndeltaStorePushes(t *testing.T) {
	var pushed pushes
	store := cache.NewUndeltaStore(pushed.push, nil)
	do := func(want string, err error) {
		t.Helper()
		if got := pushed.take(); err != nil || got != want {
			t.Errorf("pushed %s, %v, want %s", got, err, want)
		}
	}
	do("[[a@1]]", store.Add(cachetest.Pod("a", cachetest.WithVersion("1"))))
	do("[[a@1 b@2]]", store.Add(cachetest.Pod("b", cachetest.WithVersion("2"))))
	do("[[a@3 b@2]]", store.Update(cachetest.Pod("a", cachetest.WithVersion("3"))))
	do("[[b@2]]", store.Delete(cachetest.Pod("a")))
	do("[[c@4 d@5]]", store.Replace([]*corev1.Pod{cachetest.Pod("c", cachetest.WithVersion("4")), cachetest.Pod("d", cachetest.WithVersion("5"))}, "5"))
	do("[[]]", store.Replace(nil, ""))
	if err := store.Add(cachetest.Pod("")); err == nil || pushed.take() != "[]" {
		t.Errorf("a change that failed: %v", err)
	}
	if err := (&cache.UndeltaStore[*corev1.Pod]{Store: store.Store}).Add(cachetest.Pod("a")); err == nil {
		t.Error("a change without a PushFunc is no error")
	}
}

// What is pushed is a slice of the receiver's own, with the store's objects.
func TestUndeltaStorePushIsTheReceiversOwn(t *testing.T) {
	var last []*corev1.Pod
	store := cache.NewUndeltaStore(func(pods []*corev1.Pod) { last = pods }, nil)
	a := cachetest.Pod("a")
	if err := store.Add(a); err != nil {
		t.Fatal(err)
	}
	if last[0] != a {
		t.Error("the object pushed is not the one that was added")
	}
	clear(last)
	if got, ok := store.GetByKey("ns/a"); !ok || got != a {
		t.Error("writing into the pushed slice changed the store")
	}
}

// Changes from many goroutines: as many pushes, none overlapping, none showing less
// than one before it, and the last is the last state.
func TestUndeltaStoreConcurrentChanges(t *testing.T) {
	const writers, each = 8, 50
	var pushing sync.Mutex
	var last []string
	count := 0
	store := cache.NewUndeltaStore(func(pods []*corev1.Pod) {
		if !pushing.TryLock() {
			t.Error("two pushes at a time")
			return
		}
		defer pushing.Unlock()
		count++
		names := make([]string, 0, len(pods))
		for _, p := range pods {
			names = append(names, p.Name)
		}
		slices.Sort(names)
		for _, name := range last {
			if _, ok := slices.BinarySearch(names, name); !ok {
				t.Errorf("%s was pushed and is not any more", name)
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
			}
		})
	}
	wg.Wait()
	if count != writers*each || len(last) != writers*each || store.Len() != writers*each {
		t.Errorf("%d pushes, %d in the last, %d stored, want %d", count, len(last), store.Len(), writers*each)
	}
}

// A change returns after a push that shows it.
func TestUndeltaStoreChangeIsPushedWhenItReturns(t *testing.T) {
	var mu sync.Mutex
	shown := make(map[string]bool)
	store := cache.NewUndeltaStore(func(pods []*corev1.Pod) {
		mu.Lock()
		defer mu.Unlock()
		for _, p := range pods {
			shown[p.Name] = true
		}
	}, nil)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			name := fmt.Sprint("p", i)
			if err := store.Add(cachetest.Pod(name)); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if !shown[name] {
				t.Errorf("%s was added and is in no push", name)
			}
		})
	}
	wg.Wait()
}

func TestUndeltaStoreUnderAReflector(t *testing.T) {
	var pushed pushes
	var store *cache.UndeltaStore[*corev1.Pod]
	undelta := func(*testing.T) cache.ReflectorStore[*corev1.Pod] {
		store = cache.NewUndeltaStore(pushed.push, nil)
		return store
	}
	underReflector(t, undelta, func(r *cachetest.Harness) {
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

		// Nothing new is no push: a replay, a deletion of what is not there, a bookmark.
		r.Send(watch.Event{Type: watch.Modified, Object: must(r.Get("ns/a"))})
		r.Send(watch.Event{Type: watch.Deleted, Object: cachetest.Pod("ghost", cachetest.WithVersion("6"))})
		r.SkipVersions(1)
		r.Send(watch.Event{Type: watch.Deleted, Object: cachetest.Pod("ghost", cachetest.WithVersion("7"))})
		r.Bookmark()
		expect("[]")

		// Nor is a deletion of a state older than the one stored.
		r.Send(watch.Event{Type: watch.Deleted, Object: cachetest.Pod("a", cachetest.WithVersion("4"))})
		expect("[]")
		r.ExpectError(cachetest.ErrorIs(cache.ErrStale))
		cachetest.Advance(2 * time.Second)

		// A relist is one push; what it finds unchanged stays the object that it is, with
		// what its owner wrote into it.
		c, _ := store.GetByKey("ns/c")
		c.Annotations = map[string]string{"kubelet": "was here"}
		r.Send(fake.ErrorEvent(fake.Expired()))
		r.Update(cachetest.Pod("a"))
		r.Create(cachetest.Pod("d"))
		cachetest.Advance(5 * time.Second)
		expect("[[a@8 c@4 d@9]]")
		if again, _ := store.GetByKey("ns/c"); again != c {
			t.Error("an unchanged object was replaced by a relist")
		}
	})
}

// The first list is pushed, even if it is empty: the receiver waits for it.
func TestUndeltaStoreIsPushedAnEmptyList(t *testing.T) {
	var pushed pushes
	underReflector(t, func(*testing.T) cache.ReflectorStore[*corev1.Pod] { return cache.NewUndeltaStore(pushed.push, nil) }, func(*cachetest.Harness) {
		if got := pushed.take(); got != "[[]]" {
			t.Errorf("pushed %s", got)
		}
	}, func(r *cachetest.Harness) {
		for _, name := range []string{"a", "b", "c"} {
			r.Delete("ns/" + name)
		}
	})
}

// refusing is a ReflectorStore of somebody's own, which refuses some objects.
type refusing struct {
	cache.Store[*corev1.Pod]
	refuse  map[string]bool
	replace error
}

var errRefused = errors.New("not that one")

func (s *refusing) Update(p *corev1.Pod) error {
	if s.refuse[p.Name] {
		return errRefused
	}
	return s.Store.Update(p)
}

func (s *refusing) Replace(pods []*corev1.Pod, rv string) error {
	if s.replace != nil {
		return s.replace
	}
	return s.Store.Replace(pods, rv)
}

// An object that a store refuses is reported with its key; the rest goes on, and the
// object is asked for again.
func TestStoreThatRefuses(t *testing.T) {
	store := &refusing{refuse: map[string]bool{"a": true}}
	underReflector(t, func(*testing.T) cache.ReflectorStore[*corev1.Pod] {
		store.Store = cache.NewStore[*corev1.Pod](nil, nil)
		return store
	}, func(r *cachetest.Harness) {
		r.Update(cachetest.Pod("a"))
		r.Update(cachetest.Pod("b"))
		synctest.Wait()
		if got := cachetest.Describe(store.List()); got != "a@2 b@6 c@4" {
			t.Errorf("holds [%s]", got)
		}
		var object *cache.ObjectError
		if errs := r.TakeErrors(); len(errs) != 1 || !errors.As(errs[0], &object) || object.Key != "ns/a" || !errors.Is(errs[0], errRefused) {
			t.Errorf("errors %v", errs)
		}
		cachetest.Advance(12 * time.Minute) // the end of the watch
		r.ExpectError(cachetest.ErrorIs(cache.ErrQuarantined))
		if got := cachetest.Describe(store.List()); got != "a@5 b@6 c@4" {
			t.Errorf("holds [%s]", got)
		}
	})
}
