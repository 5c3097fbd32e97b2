package faults_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// byWatchList is inBubble with the initial state got by a WatchList.
func byWatchList(t *testing.T, test func(r *cachetest.Harness), before ...func(r *cachetest.Harness)) {
	t.Helper()
	cachetest.InBubbleWithOptions(t, cache.ReflectorOptions{ListMode: cache.ListModeWatchList}, test, before...)
}

// One request brings the state and goes on as the watch; a relist is a WatchList
// at the last version.
func TestWatchList(t *testing.T) {
	byWatchList(t, func(r *cachetest.Harness) {
		r.ExpectSynced()
		r.ExpectRequests(0, "watch@+")
		status := r.Controller.Status()
		if status.Lists != 0 || status.Watches != 1 || status.Phase != cache.PhaseWatching || status.ResourceVersion != "4" {
			t.Errorf("status %+v", status)
		}
		r.Update(cachetest.Pod("a"))
		r.ExpectEvents("U a@2→5")
		r.Send(fake.ErrorEvent(fake.Expired()))
		r.Delete("ns/b")
		r.Delete("ns/c")
		r.Create(cachetest.Pod("c"))
		cachetest.Advance(2 * time.Second)
		r.ExpectRequests(0, "watch@+ watch@5+")
		r.ExpectEvents("D b@3", "D c@4", "A c@8")
		r.ExpectError(apierrors.IsResourceExpired)
	})
}

// Nothing is shown of an initial state that has not come to its end, and an empty
// one is a state, too.
func TestWatchListIsAtomic(t *testing.T) {
	byWatchList(t, func(r *cachetest.Harness) {
		r.ExpectEvents()
		if r.Controller.HasSynced() || r.Store.Len() != 0 {
			t.Errorf("shows [%s] of an unfinished state", r.Stored())
		}
		r.Send(watch.Event{Type: watch.Added, Object: cachetest.Pod("d", cachetest.WithVersion("9"))})
		r.Send(watch.Event{Type: watch.Modified, Object: cachetest.Pod("e", cachetest.WithVersion("8"))})
		r.Send(watch.Event{Type: watch.Deleted, Object: cachetest.Pod("a", cachetest.WithVersion("7"))})
		r.ExpectEvents()
		r.Send(watch.Event{Type: watch.Bookmark, Object: endBookmark("12", "true")})
		r.ExpectEvents("A b@3", "A c@4", "A d@9", "A e@8")
		if rv := r.Controller.LastSyncResourceVersion(); rv != "12" {
			t.Errorf("at version %s", rv)
		}
	}, func(r *cachetest.Harness) {
		r.InjectWatchFault(1, fake.Fault{EditEvent: fake.DropInitialEventsEndBookmark})
		r.SkipVersions(20)
	})
	byWatchList(t, func(r *cachetest.Harness) {
		r.ExpectEvents()
		if !r.Controller.HasSynced() {
			t.Error("an empty collection is not synced")
		}
	}, func(r *cachetest.Harness) {
		for _, name := range []string{"a", "b", "c"} {
			r.Delete("ns/" + name)
		}
	})
}

func endBookmark(rv, value string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: rv, Annotations: map[string]string{metav1.InitialEventsAnnotationKey: value}}}
}

// Only "true" with a version ends the initial state (W11).
func TestWatchListEndBookmark(t *testing.T) {
	for _, end := range []*corev1.Pod{endBookmark("4", "false"), endBookmark("4", ""), endBookmark("4", "True"), endBookmark("", "true"), endBookmark("0", "true"), endBookmark("abc", "true")} {
		t.Run(fmt.Sprintf("%v at %q", end.Annotations, end.ResourceVersion), func(t *testing.T) {
			byWatchList(t, func(r *cachetest.Harness) {
				r.Send(watch.Event{Type: watch.Bookmark, Object: end})
				r.ExpectEvents()
				if r.Controller.HasSynced() {
					t.Error("synced")
				}
				cachetest.Advance(time.Minute)
				r.ExpectSynced()
			}, func(r *cachetest.Harness) {
				r.InjectWatchFault(1, fake.Fault{EditEvent: fake.DropInitialEventsEndBookmark})
			})
		})
	}
}

// A source that never says that the initial state is whole is listed, soon, and not
// asked again; that is reported (W8, W9, W10, T11).
func TestWatchListWithoutEnd(t *testing.T) {
	for name, c := range map[string]struct {
		fault    fake.Fault
		before   func(r *cachetest.Harness)
		within   time.Duration
		requests string
	}{
		"held open":               {fault: fake.Fault{EditEvent: fake.DropInitialEventsEndBookmark}, within: 40 * time.Second, requests: "watch@+ list@0 "},
		"held open, with changes": {fault: fake.Fault{EditEvent: fake.DropInitialEventsEndBookmark}, before: func(r *cachetest.Harness) { r.UpdateEverySecond(600) }, within: 40 * time.Second, requests: "watch@+ list@0 "},
		"held open, with bookmarks": {fault: fake.Fault{EditEvent: fake.DropInitialEventsEndBookmark}, before: func(r *cachetest.Harness) { r.BookmarkEvery(time.Second) },
			within: 40 * time.Second, requests: "watch@+ list@0 "},
		"never answered":       {fault: fake.Fault{Stall: true}, within: 40 * time.Second, requests: "watch@+ list@0 "},
		"closed at once":       {fault: fake.Fault{CloseAfterEvents: -1}, within: 2 * time.Second, requests: "watch@+ watch@+ list@0 "},
		"closed in the middle": {fault: fake.Fault{CloseAfterEvents: 2}, within: 2 * time.Second, requests: "watch@+ watch@+ list@0 "},
	} {
		t.Run(name, func(t *testing.T) {
			byWatchList(t, func(r *cachetest.Harness) {
				cachetest.Advance(c.within)
				if requests, _ := r.RequestsSince(0); !strings.HasPrefix(requests+" ", c.requests) {
					t.Errorf("requests [%s], want first [%s]", requests, c.requests)
				}
				r.ExpectError(cachetest.ErrorContains("WatchList brought no end of the initial state"))
				if !r.Controller.HasSynced() {
					t.Error("not synced")
				}
				r.ClearFaults()
				r.CloseWatches()
				cachetest.Advance(2 * time.Minute)
				r.CloseWatches()
				r.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
				cachetest.Advance(time.Minute)
				if requests, _ := r.RequestsSince(len(strings.Fields(c.requests))); strings.Contains(requests, "+") {
					t.Errorf("asked for a WatchList again: %s", requests)
				}
			}, func(r *cachetest.Harness) {
				r.InjectWatchFault(-1, c.fault)
				if c.before != nil {
					c.before(r)
				}
			})
		})
	}
}

// Any error of the request but 429 falls back to a list, at once and without a
// report: if that fails, too, its error is the one to tell (consumers 9, 16).
func TestWatchListRefused(t *testing.T) {
	kind := schema.GroupKind{Kind: "ListOptions"}
	for name, c := range map[string]struct {
		err   error
		again bool // a later relist may ask for a WatchList
	}{
		"422":     {apierrors.NewInvalid(kind, "", nil), false},
		"400":     {apierrors.NewBadRequest("sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"), false},
		"405":     {apierrors.NewMethodNotSupported(cachetest.PodResource, "watch"), false},
		"500":     {fake.InternalError(), true},
		"403":     {fake.Forbidden(), true},
		"410":     {fake.Expired(), true},
		"504":     {fake.TooLargeResourceVersion(), true},
		"refused": {cachetest.ErrConnectionRefused, true},
	} {
		t.Run(name, func(t *testing.T) {
			byWatchList(t, func(r *cachetest.Harness) {
				r.ExpectSynced()
				r.ExpectNoError()
				n := r.ExpectRequests(0, "watch@+ list@0 watch@4")
				r.Send(fake.ErrorEvent(fake.Expired()))
				cachetest.Advance(3 * time.Second)
				if want := map[bool]string{false: "list@4 watch@4", true: "watch@4+"}[c.again]; true {
					r.ExpectRequests(n, want)
				}
			}, func(r *cachetest.Harness) { r.InjectWatchFault(1, fake.Fault{Err: c.err}) })
		})
	}
	t.Run("the list, too", func(t *testing.T) {
		byWatchList(t, func(r *cachetest.Harness) {
			errs := r.TakeErrors()
			if len(errs) != 1 || !cachetest.ErrorContains("list: ")(errs[0]) || !apierrors.IsForbidden(errs[0]) {
				t.Errorf("errors %v", errs)
			}
		}, func(r *cachetest.Harness) {
			r.InjectWatchFault(1, fake.Fault{Err: fake.InternalError()})
			r.InjectListFault(1, fake.Fault{Err: fake.Forbidden()})
		})
	})
}

// A 429 says that the server knows WatchList: it is asked again, after as long as it
// says, however often, and between two early ends as well.
func TestWatchListTooManyRequests(t *testing.T) {
	byWatchList(t, func(r *cachetest.Harness) {
		cachetest.Advance(time.Minute)
		r.ExpectRequests(0, "watch@+ watch@+ watch@+ watch@+")
		if waited := r.Requests()[1].Time.Sub(r.Requests()[0].Time); waited < 7*time.Second {
			t.Errorf("asked again after %v, not 7 s", waited)
		}
		r.ExpectSynced()
	}, func(r *cachetest.Harness) { r.InjectWatchFault(3, fake.Fault{Err: fake.TooManyRequests(7)}) })
	byWatchList(t, func(r *cachetest.Harness) {
		cachetest.Advance(10 * time.Second)
		r.ExpectRequests(0, "watch@+ watch@+ watch@+ list@0 watch@4")
		r.ExpectSynced()
	}, func(r *cachetest.Harness) {
		r.InjectWatchFault(1, fake.Fault{CloseAfterEvents: 1})
		r.InjectWatchFault(1, fake.Fault{Err: fake.TooManyRequests(0)})
		r.InjectWatchFault(1, fake.Fault{CloseAfterEvents: 1})
	})
}

// A replica that lags cannot bring a WatchList's state back in time, and a restored
// etcd can (L9, W27).
func TestWatchListGoesBack(t *testing.T) {
	byWatchList(t, func(r *cachetest.Harness) {
		ahead(r)
		r.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
		r.Restore("4")
		cachetest.Advance(10 * time.Second)
		r.ExpectRequests(1, "watch@57 watch@57+ list@57 list@ watch@4")
		r.ExpectEvents("D d@7", "U a@5→2", "A b@3")
	})
	byWatchList(t, func(r *cachetest.Harness) {
		r.ExpectSynced()
		r.SkipVersions(10)
		r.Bookmark()
		lagging := true
		r.InjectWatchFault(1, fake.Fault{EditEvent: func(e watch.Event) []watch.Event {
			if e.Type == watch.Bookmark && lagging {
				lagging = false
				e.Object = endBookmark("4", "true")
			}
			return []watch.Event{e}
		}})
		r.Send(fake.ErrorEvent(fake.Expired()))
		cachetest.Advance(10 * time.Second)
		r.ExpectRequests(0, "watch@+ watch@14+ list@14 watch@14")
		r.ExpectEvents()
	})
}

// Faults of the stream in the initial state lead to a list (W17, W18, L4).
func TestNonsenseInTheInitialState(t *testing.T) {
	for name, event := range map[string]watch.Event{
		"another kind": {Type: watch.Added, Object: &corev1.Node{}},
		"no name":      {Type: watch.Added, Object: cachetest.Pod("")},
		"no object":    {Type: watch.Added},
		"an error":     fake.ErrorEvent(fake.InternalError()),
	} {
		t.Run(name, func(t *testing.T) {
			byWatchList(t, func(r *cachetest.Harness) {
				r.ExpectRequests(0, "watch@+ list@0 watch@4")
				r.ExpectSynced()
			}, func(r *cachetest.Harness) {
				r.InjectWatchFault(1, fake.Fault{EditEvent: func(watch.Event) []watch.Event { return []watch.Event{event} }})
			})
		})
	}
}

// unsupported is a source that declares, in client-go's way, that it cannot answer a
// WatchList.
type unsupported struct{ *cachetest.Harness }

func (unsupported) IsWatchListSemanticsUnSupported() bool { return true }

func TestWatchListOnlyWhereTheSourceKnowsIt(t *testing.T) {
	byWatchList(t, func(r *cachetest.Harness) {
		r.ExpectRequests(0, "list@0 watch@4")
		r.ExpectSynced()
	}, func(r *cachetest.Harness) { r.Source = unsupported{r} })
}
