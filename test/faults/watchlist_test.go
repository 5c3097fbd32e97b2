// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
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
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// byWatchList is InBubble with an informer that gets its initial state by a WatchList.
func byWatchList(t *testing.T, test func(h *cachetest.Harness), before ...func(h *cachetest.Harness)) {
	t.Helper()
	cachetest.InBubbleWithOptions(t, cache.ReflectorOptions{WatchList: true}, test, before...)
}

// One request delivers the initial state and continues as the watch. A relist is a WatchList at the
// last version.
func TestWatchListDeliversInitialStateAndChanges(t *testing.T) {
	byWatchList(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.ExpectRequests(0, "watch@+")
		status := h.Controller.Status()
		if status.Requests.Lists != 0 || status.Requests.Watches != 1 || status.Phase != cache.PhaseWatching || status.Freshness.ResourceVersion != "4" {
			t.Errorf("status %+v", status)
		}
		h.Update(cachetest.Pod("a"))
		h.ExpectEvents("U a@2→5")
		h.InjectWatchFault(1, fake.Fault{Delay: time.Second}) // until after the changes
		h.Send(fake.ErrorEvent(fake.Expired()))
		h.Delete("ns/b")
		h.Delete("ns/c")
		h.Create(cachetest.Pod("c"))
		cachetest.Advance(2 * time.Second)
		h.ExpectRequests(0, "watch@+ watch@5+")
		h.ExpectEvents("D b@3", "D c@4", "A c@8")
		h.ExpectError(apierrors.IsResourceExpired)
	})
}

// Objects of an initial state are stored and delivered at its end bookmark. The state may be empty.
func TestWatchListIsAtomic(t *testing.T) {
	byWatchList(t, func(h *cachetest.Harness) {
		h.ExpectEvents()
		if h.Controller.HasDelivered() || h.Store.Len() != 0 {
			t.Errorf("the store holds [%s] of an incomplete state", h.Stored())
		}
		h.Send(watch.Event{Type: watch.Added, Object: cachetest.Pod("d", cachetest.WithVersion("9"))})
		h.Send(watch.Event{Type: watch.Modified, Object: cachetest.Pod("e", cachetest.WithVersion("8"))})
		h.Send(watch.Event{Type: watch.Deleted, Object: cachetest.Pod("a", cachetest.WithVersion("7"))})
		h.ExpectEvents()
		h.Send(watch.Event{Type: watch.Bookmark, Object: endBookmark("12", "true")})
		h.ExpectEvents("A b@3", "A c@4", "A d@9", "A e@8")
		if rv := h.Controller.LastSyncResourceVersion(); rv != "12" {
			t.Errorf("at version %s, want 12", rv)
		}
	}, func(h *cachetest.Harness) {
		h.InjectWatchFault(1, fake.Fault{EditEvent: fake.DropInitialEventsEndBookmark})
		h.SkipVersions(20)
	})
	byWatchList(t, func(h *cachetest.Harness) {
		h.ExpectEvents()
		if !h.Controller.HasDelivered() {
			t.Error("not synced with an empty collection")
		}
	}, func(h *cachetest.Harness) {
		for _, name := range []string{"a", "b", "c"} {
			h.Delete("ns/" + name)
		}
	})
}

// endBookmark returns the object of a bookmark whose annotation for the end of the initial state
// has a value.
func endBookmark(rv, value string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: rv, Annotations: map[string]string{metav1.InitialEventsAnnotationKey: value}}}
}

// Only the annotation value "true" ends the initial state.
func TestWatchListNeedsAnEndBookmark(t *testing.T) {
	for _, value := range []string{"false", "", "True"} {
		t.Run(value, func(t *testing.T) {
			byWatchList(t, func(h *cachetest.Harness) {
				h.Send(watch.Event{Type: watch.Bookmark, Object: endBookmark("4", value)})
				h.ExpectEvents()
				if h.Controller.HasDelivered() {
					t.Error("synced")
				}
				cachetest.Advance(time.Minute)
				h.ExpectSynced()
			}, func(h *cachetest.Harness) {
				h.InjectWatchFault(1, fake.Fault{EditEvent: fake.DropInitialEventsEndBookmark})
			})
		})
	}
}

// If the end bookmark does not come, the informer reports that, lists instead, and does not request
// a WatchList again.
func TestWatchListWithoutEndFallsBackToList(t *testing.T) {
	noEnd := fake.Fault{EditEvent: fake.DropInitialEventsEndBookmark}
	for name, c := range map[string]struct {
		fault    fake.Fault
		before   func(h *cachetest.Harness)
		within   time.Duration
		requests string
	}{
		"open": {fault: noEnd, within: 40 * time.Second, requests: "watch@+ list@0 "},
		"open, with changes": {fault: noEnd, before: func(h *cachetest.Harness) { h.UpdateEverySecond(600) },
			within: 40 * time.Second, requests: "watch@+ list@0 "},
		"open, with bookmarks": {fault: noEnd, before: func(h *cachetest.Harness) { h.BookmarkEvery(time.Second) },
			within: 40 * time.Second, requests: "watch@+ list@0 "},
		"stalled":               {fault: fake.Fault{Stall: true}, within: 40 * time.Second, requests: "watch@+ list@0 "},
		"closed at once":        {fault: fake.Fault{CloseAfterEvents: -1}, within: 2 * time.Second, requests: "watch@+ watch@+ list@0 "},
		"closed after two Pods": {fault: fake.Fault{CloseAfterEvents: 2}, within: 2 * time.Second, requests: "watch@+ watch@+ list@0 "},
	} {
		t.Run(name, func(t *testing.T) {
			byWatchList(t, func(h *cachetest.Harness) {
				cachetest.Advance(c.within)
				if requests, _ := h.RequestsSince(0); !strings.HasPrefix(requests+" ", c.requests) {
					t.Errorf("requests [%s], want them to begin with [%s]", requests, c.requests)
				}
				h.ExpectError(cachetest.ErrorContains("WatchList brought no end of the initial state"))
				if !h.Controller.HasDelivered() {
					t.Error("not synced")
				}
				h.ClearFaults()
				h.CloseWatches()
				cachetest.Advance(2 * time.Minute)
				h.CloseWatches()
				h.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
				cachetest.Advance(time.Minute)
				if requests, _ := h.RequestsSince(len(strings.Fields(c.requests))); strings.Contains(requests, "+") {
					t.Errorf("requested a WatchList again: %s", requests)
				}
			}, func(h *cachetest.Harness) {
				h.InjectWatchFault(-1, c.fault)
				if c.before != nil {
					c.before(h)
				}
			})
		})
	}
}

// Any error of the request but 429 is followed at once by a list. Only an error of the list is
// reported.
func TestRefusedWatchListFallsBackToList(t *testing.T) {
	kind := schema.GroupKind{Kind: "ListOptions"}
	for name, c := range map[string]struct {
		err   error
		again bool // the next relist requests a WatchList
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
			byWatchList(t, func(h *cachetest.Harness) {
				h.ExpectSynced()
				h.ExpectNoError()
				n := h.ExpectRequests(0, "watch@+ list@0 watch@4")
				h.Send(fake.ErrorEvent(fake.Expired()))
				cachetest.Advance(10 * time.Second)
				h.ExpectRequests(n, map[bool]string{false: "list@4 watch@4", true: "watch@4+"}[c.again])
			}, func(h *cachetest.Harness) { h.InjectWatchFault(1, fake.Fault{Err: c.err}) })
		})
	}
	t.Run("list refused, too", func(t *testing.T) {
		byWatchList(t, func(h *cachetest.Harness) {
			errs := h.TakeErrors()
			if len(errs) != 1 || !cachetest.ErrorContains("list: ")(errs[0]) || !apierrors.IsForbidden(errs[0]) {
				t.Errorf("errors %v", errs)
			}
		}, func(h *cachetest.Harness) {
			h.InjectWatchFault(1, fake.Fault{Err: fake.InternalError()})
			h.InjectListFault(1, fake.Fault{Err: fake.Forbidden()})
		})
	})
}

// After a 429 the WatchList is retried, once its Retry-After has passed. A 429 is not counted as a
// WatchList without an end.
func TestThrottledWatchListIsRetried(t *testing.T) {
	byWatchList(t, func(h *cachetest.Harness) {
		cachetest.Advance(time.Minute)
		h.ExpectRequests(0, "watch@+ watch@+ watch@+ watch@+")
		if waited := h.Requests()[1].Time.Sub(h.Requests()[0].Time); waited < 7*time.Second {
			t.Errorf("retried after %v, want at least 7 s", waited)
		}
		h.ExpectSynced()
	}, func(h *cachetest.Harness) { h.InjectWatchFault(3, fake.Fault{Err: fake.TooManyRequests(7)}) })
	byWatchList(t, func(h *cachetest.Harness) {
		cachetest.Advance(10 * time.Second)
		h.ExpectRequests(0, "watch@+ watch@+ watch@+ list@0 watch@4")
		h.ExpectSynced()
	}, func(h *cachetest.Harness) {
		h.InjectWatchFault(1, fake.Fault{CloseAfterEvents: 1})
		h.InjectWatchFault(1, fake.Fault{Err: fake.TooManyRequests(0)})
		h.InjectWatchFault(1, fake.Fault{CloseAfterEvents: 1})
	})
}

// An initial state at an older version than before is followed by lists: after a restore of etcd
// the consistent list is at the older version, at a lagging replica it is not.
func TestWatchListAtAnOlderVersionIsListed(t *testing.T) {
	byWatchList(t, func(h *cachetest.Harness) {
		advanceBeyondRestore(h)
		h.InjectWatchFault(2, fake.Fault{Err: fake.Expired()})
		h.Restore("4")
		cachetest.Advance(20 * time.Second)
		h.ExpectRequests(1, "watch@4 watch@57 watch@57+ list@57 list@ watch@4")
		h.ExpectEvents("D d@7", "U a@5→2", "A b@3")
	})
	byWatchList(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.SkipVersions(10)
		h.Bookmark()
		lagging := true
		h.InjectWatchFault(1, fake.Fault{EditEvent: func(e watch.Event) []watch.Event {
			if e.Type == watch.Bookmark && lagging {
				lagging = false
				e.Object = endBookmark("4", "true")
			}
			return []watch.Event{e}
		}})
		h.Send(fake.ErrorEvent(fake.Expired()))
		cachetest.Advance(10 * time.Second)
		h.ExpectRequests(0, "watch@+ watch@14+ list@14 watch@14")
		h.ExpectEvents()
	})
}

// An event of the initial state that cannot be read is passed over. A list follows the watch.
func TestUnreadableInitialEventIsPassedOver(t *testing.T) {
	for name, event := range map[string]watch.Event{
		"another kind":    {Type: watch.Added, Object: &corev1.Node{}},
		"no name":         {Type: watch.Added, Object: cachetest.Pod("")},
		"no object":       {Type: watch.Added},
		"a deletion":      {Type: watch.Deleted},
		"an unknown type": {Type: "PATCHED", Object: cachetest.Pod("")},
	} {
		t.Run(name, func(t *testing.T) {
			byWatchList(t, func(h *cachetest.Harness) {
				h.ExpectEvents("A a@2", "A c@4")
				h.ExpectStored("a@2 c@4")
				if n := quarantined(h); n != 1 {
					t.Errorf("%d objects quarantined, want 1", n)
				}
				h.CloseWatches()
				cachetest.Advance(time.Second)
				h.ExpectRequests(0, "watch@+ watch@4+")
				h.ExpectEvents("A b@3")
			}, func(h *cachetest.Harness) {
				h.InjectWatchFault(1, fake.Fault{EditEvent: func(e watch.Event) []watch.Event {
					if pod := e.Object.(*corev1.Pod); pod.Name == "b" {
						return []watch.Event{event}
					}
					return []watch.Event{e}
				}})
			})
		})
	}
}

// An error in the initial state is followed by a list.
func TestFailedInitialStateFallsBackToList(t *testing.T) {
	byWatchList(t, func(h *cachetest.Harness) {
		h.ExpectRequests(0, "watch@+ list@0 watch@4")
		h.ExpectSynced()
	}, func(h *cachetest.Harness) {
		h.InjectWatchFault(1, fake.Fault{EditEvent: func(watch.Event) []watch.Event {
			return []watch.Event{fake.ErrorEvent(fake.InternalError())}
		}})
	})
}

// unsupported is a source that declares, as those of client-go do, that it does not support
// WatchList.
type unsupported struct{ *cachetest.Harness }

func (unsupported) IsWatchListSemanticsUnSupported() bool { return true }

func TestUnsupportedWatchListIsNotRequested(t *testing.T) {
	byWatchList(t, func(h *cachetest.Harness) {
		h.ExpectRequests(0, "list@0 watch@4")
		h.ExpectSynced()
	}, func(h *cachetest.Harness) { h.Source = unsupported{h} })
}
