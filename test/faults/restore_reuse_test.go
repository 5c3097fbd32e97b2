package faults_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// An etcd restored from backup gives out again the versions that it has given out
// before. An object that survived the restore keeps its UID; so it may come in the
// version that the cache has, with other content.

// restoreAndReuse brings the server to a@5 with one label, and back to 4, and again to
// a@5 with another label, b and c being the same all the time.
func restoreAndReuse(r *cachetest.Harness) {
	r.Update(cachetest.Pod("a", cachetest.WithLabel("epoch", "lost")))
	r.SkipVersions(50)
	r.Bookmark()
	synctest.Wait()
	r.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
	r.Restore("4")
	r.Update(cachetest.Pod("a", cachetest.WithLabel("epoch", "restored")))
	cachetest.Advance(10 * time.Second)
}

// expectRestoredA requires a@5 of after the restore.
func expectRestoredA(t *testing.T, a *corev1.Pod) {
	t.Helper()
	if a == nil || a.ResourceVersion != "5" || a.Labels["epoch"] != "restored" {
		t.Errorf("after the restore the cache holds %v", a)
	}
}

func TestRestoredObjectInAVersionThatIsKnown(t *testing.T) {
	for name, options := range map[string]cache.InformerOptions[*corev1.Pod]{
		"live":   {},
		"packed": {Packed: true},
		// The filter must be asked again.
		"filtered": {Filter: func(p *corev1.Pod) bool { return p.Name == "a" || p.Labels["epoch"] == "" }},
		"transformed": {Packed: true, Transform: func(p *corev1.Pod) (*corev1.Pod, error) {
			p.UID, p.ManagedFields = "", nil
			return p, nil
		}},
		"watched": {ListMode: cache.ListModeWatchList},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := cachetest.New(t)
				updates := runShared(t, r, options, func(pods cache.Reader[*corev1.Pod]) {
					restoreAndReuse(r)
					a, _ := pods.GetByKey("ns/a")
					expectRestoredA(t, a)
				})
				if got := strings.Join(updates, ", "); got != "a@2 →lost, a@5 lost→restored" {
					t.Errorf("updates: %s", got)
				}
			})
		})
	}
}

// What is filtered out after the restore, in a version that was accepted before it, is
// gone.
func TestRestoredObjectIsFilteredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		filter := func(p *corev1.Pod) bool { return p.Labels["epoch"] != "restored" }
		runShared(t, r, cache.InformerOptions[*corev1.Pod]{Filter: filter}, func(pods cache.Reader[*corev1.Pod]) {
			restoreAndReuse(r)
			if got := cachetest.Describe(pods.List()); got != "b@3 c@4" {
				t.Errorf("the store holds [%s]", got)
			}
		})
	})
}

// runShared runs an informer for a test, and returns the updates that a handler of it
// was told.
func runShared(t *testing.T, r *cachetest.Harness, options cache.InformerOptions[*corev1.Pod], test func(cache.Reader[*corev1.Pod])) (updates []string) {
	t.Helper()
	options.ErrorHandler = r.Report
	pods := cache.NewSharedInformer(r, &corev1.Pod{}, options)
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs[*corev1.Pod]{
		UpdateFunc: func(before, after *corev1.Pod) {
			updates = append(updates, cachetest.NameAtVersion(before)+" "+before.Labels["epoch"]+"→"+after.Labels["epoch"])
		},
	}, cache.HandlerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- pods.Run(ctx) }()
	synctest.Wait()
	test(pods.Store())
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	return updates
}

// A Reflector's store is one that compares nothing.
func TestRestoredObjectInAVersionThatAStoreHas(t *testing.T) {
	store := cache.NewStore[*corev1.Pod](nil, nil)
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		defer r.RunReflector(store)()
		restoreAndReuse(r)
		a, _ := store.GetByKey("ns/a")
		expectRestoredA(t, a)
	})
}

var errRefused = errors.New("refused")

// refusingLists refuses so many lists.
type refusingLists struct {
	cache.Store[*corev1.Pod]
	refusals int
}

func (s *refusingLists) Replace(pods []*corev1.Pod, rv string) error {
	if s.refusals--; s.refusals >= 0 {
		return errRefused
	}
	return s.Store.Replace(pods, rv)
}

// A list that the store refuses is a list that failed: it is reported, and made again
// after a while.
func TestStoreThatRefusesAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		store := &refusingLists{Store: cache.NewStore[*corev1.Pod](nil, nil), refusals: 2}
		defer r.RunReflector(store)()
		r.ExpectRequests(0, "list@0")
		r.ExpectError(cachetest.ErrorIs(errRefused))
		cachetest.Advance(10 * time.Second)
		r.ExpectRequests(0, "list@0 list@0 list@0 watch@4")
		if got := cachetest.Describe(store.List()); got != "a@2 b@3 c@4" {
			t.Errorf("the store holds [%s]", got)
		}
	})
}
