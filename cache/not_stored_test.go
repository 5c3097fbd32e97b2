// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

var errBroken = errors.New("broken")

// broken marks a Pod that the options of notStoredCauses cannot store.
func broken(p *corev1.Pod) { p.Labels = map[string]string{"x": "broken"} }

func isBroken(p *corev1.Pod) bool { return p.Labels["x"] == "broken" }

// notStoredCauses are ways in which an object cannot be stored.
func notStoredCauses() map[string]cache.InformerOptions[*corev1.Pod] {
	filter := func(p *corev1.Pod) bool {
		if isBroken(p) {
			panic(errBroken)
		}
		return p.Labels["x"] != "refused"
	}
	return map[string]cache.InformerOptions[*corev1.Pod]{
		"Transform": {Transform: func(p *corev1.Pod) (*corev1.Pod, error) {
			if isBroken(p) {
				return nil, errBroken
			}
			return p, nil
		}},
		"Transform, packed": {Packed: true, Transform: func(p *corev1.Pod) (*corev1.Pod, error) {
			if isBroken(p) {
				panic(errBroken)
			}
			return p, nil
		}},
		"Filter":         {Filter: filter},
		"Filter, packed": {Filter: filter, Packed: true},
	}
}

// notStoredReader reads an informer's store.
type notStoredReader struct {
	*sharedHarness
	options cache.InformerOptions[*corev1.Pod]
	lister  cache.Lister[*corev1.Pod]
	events  *eventRecorder
}

// runNotStored runs test with an informer for each cause and each way in which the first state
// arrives. The Pod d cannot be stored and never could.
func runNotStored(t *testing.T, test func(r *notStoredReader)) {
	t.Helper()
	for name, options := range notStoredCauses() {
		for _, by := range []string{"list", "WatchList", "watch"} {
			t.Run(name+" by "+by, func(t *testing.T) {
				if by == "WatchList" {
					options.WatchList = true
				}
				r := &notStoredReader{options: options, events: &eventRecorder{}}
				create := func(s *sharedHarness) { s.Create(cachetest.Pod("d", broken)) }
				runShared(t, options, func(s *sharedHarness) {
					if by == "watch" {
						create(s)
					}
					synctest.Wait()
					r.events.take()
					r.lister = cache.NewLister(s.SharedInformer.Store(), corev1.Resource("pods")).Namespace("ns")
					test(r)
				}, func(s *sharedHarness) {
					r.sharedHarness = s
					s.add(r.events, cache.HandlerOptions{})
					if by != "watch" {
						create(s)
					}
				})
			})
		}
	}
}

// expectNotStored checks every read of a Pod whose newest state could not be stored. last is its
// last good state, empty if there never was one.
func (r *notStoredReader) expectNotStored(name, last string) {
	r.T.Helper()
	synctest.Wait()
	isNotStored := func(err error) bool {
		return errors.Is(err, cache.ErrNotStored) && errors.Is(err, errBroken) && !apierrors.IsNotFound(err)
	}
	pod, err := r.lister.Get(name)
	stored, exists, getErr := r.SharedInformer.Store().Get(cachetest.Pod(name))
	byKey, existsByKey := r.SharedInformer.Store().GetByKey("ns/" + name)
	if last == "" {
		if pod != nil || !isNotStored(err) {
			r.T.Errorf("Lister.Get(%s) = %v, %v", name, pod, err)
		}
		if exists || !isNotStored(getErr) || existsByKey {
			r.T.Errorf("Get(%s) = %v, %v, %v; GetByKey returns %v", name, stored, exists, getErr, byKey)
		}
	} else if err != nil || getErr != nil || !existsByKey || !exists || cachetest.NameAtVersion(pod) != last || cachetest.NameAtVersion(byKey) != last {
		r.T.Errorf("%s is read as %v, %v, %v, %v, %v, want %s", name, pod, err, byKey, stored, getErr, last)
	}
	if err := r.SharedInformer.Store().KeyError("ns/" + name); !isNotStored(err) {
		r.T.Errorf("KeyError(%s) = %v", name, err)
	}
}

// expectQuarantined checks the status, the health checks and the objects that lists return.
func (r *notStoredReader) expectQuarantined(listed string, names ...string) {
	r.T.Helper()
	synctest.Wait()
	status := r.Status()
	var keys []string
	for _, q := range status.Store.QuarantinedKeys {
		keys = append(keys, q.Key)
		if !errors.Is(q.Err, cache.ErrNotStored) || !errors.Is(q.Err, errBroken) {
			r.T.Errorf("the error of %s is %v", q.Key, q.Err)
		}
	}
	if status.Store.Quarantined != len(names) || strings.Join(keys, " ") != strings.Join(names, " ") || status.Store.Unnamed != 0 {
		r.T.Errorf("status %+v, want %q quarantined", status, names)
	}
	if err := r.HealthCheck(cache.HealthOptions{})(nil); err != nil {
		r.T.Errorf("without FailOnQuarantined, the health check returns %v", err)
	}
	err := r.HealthCheck(cache.HealthOptions{FailOnQuarantined: true})(nil)
	if unhealthy := len(names) > 0; errors.Is(err, cache.ErrNotStored) != unhealthy || (err != nil) != unhealthy ||
		unhealthy && !strings.Contains(err.Error(), fmt.Sprintf("%d not stored, the first is %q", len(names), names[0])) {
		r.T.Errorf("the health check returns %v", err)
	}
	if got := cachetest.Describe(r.SharedInformer.Store().List()); got != listed || r.SharedInformer.Store().Len() != len(strings.Fields(listed)) || status.Store.Objects != r.SharedInformer.Store().Len() {
		r.T.Errorf("listed [%s], Len() = %d, %d objects, want [%s]", got, r.SharedInformer.Store().Len(), status.Store.Objects, listed)
	}
	if got := cachetest.Describe(r.lister.List(nil)); got != listed {
		r.T.Errorf("the Lister lists [%s], want [%s]", got, listed)
	}
}

func (r *notStoredReader) expectNotFound(name string) {
	r.T.Helper()
	synctest.Wait()
	if pod, err := r.lister.Get(name); !apierrors.IsNotFound(err) {
		r.T.Errorf("Lister.Get(%s) = %v, %v, want NotFound", name, pod, err)
	}
	if err := r.SharedInformer.Store().KeyError("ns/" + name); err != nil {
		r.T.Errorf("KeyError(%s) = %v", name, err)
	}
}

// TestObjectThatCannotBeStoredDoesNotLookDeleted reads such objects, those with a last good state
// and those without, until a good state arrives.
func TestObjectThatCannotBeStoredDoesNotLookDeleted(t *testing.T) {
	runNotStored(t, func(r *notStoredReader) {
		r.expectNotStored("d", "")
		r.expectQuarantined("a@2 b@3 c@4", "ns/d")
		r.Update(cachetest.Pod("b", broken))
		r.expectNotStored("b", "b@3")
		r.expectQuarantined("a@2 b@3 c@4", "ns/b", "ns/d")
		r.expect(r.events, "")

		good := r.Update(cachetest.Pod("d"))
		r.expect(r.events, "Add ns/d d@7")
		r.expectQuarantined("a@2 b@3 c@4 d@7", "ns/b")
		if err := r.WaitForObject(r.T.Context(), good); err != nil {
			r.T.Errorf("WaitForObject: %v", err)
		}
		r.Update(cachetest.Pod("b"))
		r.expect(r.events, "Update ns/b b@3 b@8")
		r.expectQuarantined("a@2 b@8 c@4 d@7")
	})
}

// TestDeletionOfObjectThatCannotBeStored deletes such objects, and recreates one.
func TestDeletionOfObjectThatCannotBeStored(t *testing.T) {
	runNotStored(t, func(r *notStoredReader) {
		r.Update(cachetest.Pod("b", broken))
		r.expectNotStored("b", "b@3")
		r.Delete("ns/d")
		r.Delete("ns/b")
		synctest.Wait()
		if got := r.events.take(); got != "Delete ns/b b@3" && got != "Delete ns/b b@8" { // Transform fails for the state at deletion, too
			r.T.Errorf("events [%s], want the deletion of b", got)
		}
		r.expectNotFound("b")
		r.expectNotFound("d")
		r.expectQuarantined("a@2 c@4")
		r.Create(cachetest.Pod("d", broken))
		r.expectNotStored("d", "")
		r.expectQuarantined("a@2 c@4", "ns/d")
	})
}

// TestRelistClearsObjectThatCannotBeStored repairs one such object and deletes another while no
// watch is open. The next list shows both.
func TestRelistClearsObjectThatCannotBeStored(t *testing.T) {
	runNotStored(t, func(r *notStoredReader) {
		r.Create(cachetest.Pod("e", broken))
		r.expectQuarantined("a@2 b@3 c@4", "ns/d", "ns/e")
		r.changeUnwatched(func() {
			r.Update(cachetest.Pod("d"))
			r.Delete("ns/e")
		})
		r.expect(r.events, "Add ns/d d@7")
		r.expectNotFound("e")
		r.expectQuarantined("a@2 b@3 c@4 d@7")
	})
}

// TestListerSaysThatTheNamespaceOfAllObjectsIsMissing gets an object by name alone, of which none
// could be stored.
func TestListerSaysThatTheNamespaceOfAllObjectsIsMissing(t *testing.T) {
	options := cache.InformerOptions[*corev1.Pod]{Transform: func(*corev1.Pod) (*corev1.Pod, error) { return nil, errBroken }}
	runShared(t, options, func(s *sharedHarness) {
		lister := cache.NewLister(s.SharedInformer.Store(), corev1.Resource("pods"))
		if _, err := lister.Get("a"); apierrors.IsNotFound(err) || !cachetest.ErrorContains("use Namespace")(err) {
			t.Errorf("Get(a) = %v", err)
		}
	})
}

// TestRefusedObjectIsNotFound makes the Filter refuse an object that could not be stored before.
func TestRefusedObjectIsNotFound(t *testing.T) {
	refused := cachetest.WithLabel("x", "refused")
	runShared(t, notStoredCauses()["Filter"], func(s *sharedHarness) {
		r := &notStoredReader{sharedHarness: s, events: &eventRecorder{}, lister: cache.NewLister(s.SharedInformer.Store(), corev1.Resource("pods")).Namespace("ns")}
		r.expectNotFound("e")
		r.expectNotStored("d", "")
		r.Update(cachetest.Pod("d", refused))
		r.expectNotFound("d")
		r.Update(cachetest.Pod("e", broken))
		r.expectNotStored("e", "")
		r.changeUnwatched(func() { r.Update(cachetest.Pod("e", refused)) })
		r.expectNotFound("e")
		r.expectQuarantined("a@2 b@3 c@4")
	}, func(s *sharedHarness) {
		s.Create(cachetest.Pod("d", broken))
		s.Create(cachetest.Pod("e", refused))
	})
}

// TestStatusNamesTheFirstQuarantinedKeys has more quarantined keys than Status names.
func TestStatusNamesTheFirstQuarantinedKeys(t *testing.T) {
	runShared(t, notStoredCauses()["Transform"], func(s *sharedHarness) {
		for i := range 150 {
			s.Create(cachetest.Pod(fmt.Sprintf("p%03d", 149-i), broken))
		}
		synctest.Wait()
		status := s.Status()
		if n := len(status.Store.QuarantinedKeys); status.Store.Quarantined != 150 || n != 100 || status.Store.QuarantinedKeys[0].Key != "ns/p000" || status.Store.QuarantinedKeys[99].Key != "ns/p099" {
			t.Errorf("%d quarantined, %d named", status.Store.Quarantined, n)
		}
	})
}

// TestReflectorNamesQuarantinedKeys reads the Status and the HealthCheck of a Reflector.
func TestReflectorNamesQuarantinedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := cachetest.New(t)
		store := rejectingStore{cache.NewStore[*corev1.Pod](nil, nil), func(p *corev1.Pod) error {
			if isBroken(p) {
				return errBroken
			}
			return nil
		}}
		pods := cache.NewReflector(h.Source, &corev1.Pod{}, store, cache.ReflectorOptions{ErrorHandler: h.Report})
		start(t, pods)
		check := func(want ...string) {
			t.Helper()
			synctest.Wait()
			var keys []string
			status := pods.Status()
			for _, q := range status.Store.QuarantinedKeys {
				if keys = append(keys, q.Key); !errors.Is(q.Err, cache.ErrNotStored) || !errors.Is(q.Err, errBroken) {
					t.Errorf("the error of %s is %v", q.Key, q.Err)
				}
			}
			err := pods.HealthCheck(cache.HealthOptions{FailOnQuarantined: true})(nil)
			if !slices.Equal(keys, want) || status.Store.Quarantined != len(want) || errors.Is(err, cache.ErrNotStored) != (len(want) > 0) {
				t.Errorf("quarantined %q, health check %v, want %q", keys, err, want)
			}
		}
		check()
		h.Create(cachetest.Pod("e", broken))
		h.Create(cachetest.Pod("d", broken))
		check("ns/d", "ns/e")
		h.Update(cachetest.Pod("e"))
		h.Delete("ns/d")
		check()
	})
}

// changeUnwatched makes changes while no watch is open, so that the next list shows them.
func (s *sharedHarness) changeUnwatched(change func()) {
	s.T.Helper()
	hold := make(chan struct{})
	s.InjectWatchFault(1, fake.Fault{Hold: hold, Err: fake.Expired()})
	s.CloseWatches()
	cachetest.Advance(time.Minute)
	change()
	close(hold)
	cachetest.Advance(2 * time.Minute)
}
