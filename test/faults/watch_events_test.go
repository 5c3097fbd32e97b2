package faults_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// sent is an event out of turn, of a Pod with the UID of the stored one.
func sent(r *cachetest.Harness, eventType watch.EventType, name, rv string) watch.Event {
	p := cachetest.Pod(name, cachetest.WithVersion(rv))
	if stored, ok := r.Store.GetByKey("ns/" + name); ok {
		p.UID = stored.UID
	}
	return watch.Event{Type: eventType, Object: p}
}

// Events that bring nothing new change nothing and end nothing (W1, W2).
func TestReplayedEvents(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.ExpectSynced()
		for _, event := range []watch.Event{
			sent(r, watch.Added, "a", "2"), sent(r, watch.Modified, "b", "3"), sent(r, watch.Added, "c", "4"), sent(r, watch.Added, "c", "4"),
			sent(r, watch.Deleted, "ghost", "4"), sent(r, watch.Deleted, "ghost", "3"),
		} {
			r.Send(event)
		}
		r.SkipVersions(10)
		r.Send(sent(r, watch.Deleted, "ghost", "12"))
		r.Send(sent(r, watch.Deleted, "ghost", "13"))
		r.ExpectEvents()
		r.ExpectNoError()
		r.ExpectRequests(0, "list@0 watch@4")
		if rv := r.Controller.LastSyncResourceVersion(); rv != "13" {
			t.Errorf("the deletions of an unknown object took the version to %s, want 13", rv)
		}
		r.ExpectStored("a@2 b@3 c@4")
	})
}

// Events that would take an object back in time are dropped, and their stream with
// them (W4).
func TestStaleEvents(t *testing.T) {
	for name, stale := range map[string]func(r *cachetest.Harness) watch.Event{
		"an older state of an object":    func(r *cachetest.Harness) watch.Event { return sent(r, watch.Modified, "a", "2") },
		"an older state, as an addition": func(r *cachetest.Harness) watch.Event { return sent(r, watch.Added, "a", "3") },
		"an unknown object from before":  func(r *cachetest.Harness) watch.Event { return sent(r, watch.Added, "z", "3") },
		"a deletion of an older state":   func(r *cachetest.Harness) watch.Event { return sent(r, watch.Deleted, "a", "4") },
		"the same version, another object": func(r *cachetest.Harness) watch.Event {
			e := sent(r, watch.Modified, "a", "5")
			e.Object.(*corev1.Pod).UID = "other"
			return e
		},
	} {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubble(t, func(r *cachetest.Harness) {
				r.Update(cachetest.Pod("a")) // 5
				r.ExpectEvents("A a@2", "A b@3", "A c@4", "U a@2→5")
				r.Send(stale(r))
				r.ExpectEvents()
				r.ExpectError(cachetest.ErrorIs(cache.ErrStale))
				r.Update(cachetest.Pod("b"))
				cachetest.Advance(2 * time.Second)
				r.ExpectRequests(0, "list@0 watch@4 watch@5")
				r.ExpectEvents("U b@3→6")
				if now := r.Controller.LastSyncResourceVersion(); now != "6" {
					t.Errorf("at version %s", now)
				}
			})
		})
	}
}

// A replay without end does not turn into a storm, and a window of events told again
// on each watch leads to a relist.
func TestReplayWindowForEver(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.Update(cachetest.Pod("a"))
		r.ExpectEvents("A a@2", "A b@3", "A c@4", "U a@2→5")
		r.InjectWatchFault(-1, fake.Fault{EditEvent: func(e watch.Event) []watch.Event {
			return []watch.Event{{Type: watch.Modified, Object: cachetest.Pod("b", cachetest.WithVersion("2"))}, e}
		}})
		r.CloseWatches()
		began := time.Now()
		for range 100 {
			cachetest.Advance(30 * time.Second)
			r.Update(cachetest.Pod("c"))
		}
		r.ExpectRates(began.Add(time.Minute))
		cachetest.Advance(2 * time.Minute)
		r.ExpectStored(r.Served())
	})
}

// A deletion counts if it is not older than what is stored, whatever version it
// carries (W5).
func TestDeletionWithTheLastUpdatesVersion(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.ExpectSynced()
		r.Update(cachetest.Pod("c")) // 5
		r.Send(sent(r, watch.Deleted, "a", "2"))
		r.ExpectEvents("U c@4→5", "D a@2")
		r.ExpectNoError()
		if rv := r.Controller.LastSyncResourceVersion(); rv != "5" {
			t.Errorf("at version %s, want 5", rv)
		}
		r.Send(sent(r, watch.Deleted, "b", "3"))
		r.ExpectEvents("D b@3")
		r.CloseWatches()
		cachetest.Advance(6 * time.Second)
		r.ExpectRequests(0, "list@0 watch@4 watch@5")
		// The server still has both: a relist brings them back, as it must.
		r.Send(fake.ErrorEvent(fake.Expired()))
		cachetest.Advance(2 * time.Second)
		r.ExpectEvents("A a@2", "A b@3")
	})
}

// MODIFIED of an unknown object is an addition (W3), ADDED of a known one an update,
// and another UID under a known name a deletion and an addition (W26).
func TestEventTypesFollowTheStore(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.ExpectSynced()
		r.SkipVersions(20)
		r.Send(sent(r, watch.Modified, "d", "10"))
		r.Send(sent(r, watch.Added, "a", "11"))
		other := sent(r, watch.Modified, "b", "12")
		other.Object.(*corev1.Pod).UID = types.UID("recreated")
		r.Send(other)
		r.ExpectEvents("A d@10", "U a@2→11", "D b@3", "A b@12")
		r.ExpectNoError()
	})
}

// An item without a version is applied, never compared, and moves nothing
// (consumers 1, W19).
func TestEventsWithoutVersion(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.ExpectSynced()
		r.Send(sent(r, watch.Modified, "a", ""))
		r.Send(sent(r, watch.Added, "d", ""))
		r.Send(sent(r, watch.Deleted, "b", ""))
		r.ExpectEvents("U a@2→", "A d@", "D b@")
		r.ExpectNoError()
		if rv := r.Controller.LastSyncResourceVersion(); rv != "4" {
			t.Errorf("at version %s, want 4", rv)
		}
	})
}

// Bookmarks move the version and are never an object or an event (W31); one below
// the version reached says that the server went back, and is not believed before a
// consistent list says so, too (W28).
func TestBookmarks(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.ExpectSynced()
		fresh := r.Controller.Status().FreshAt
		cachetest.Advance(time.Second)
		named := cachetest.Pod("a", cachetest.WithVersion("9"), cachetest.WithLabel("x", "y"))
		r.SkipVersions(20)
		r.Send(watch.Event{Type: watch.Bookmark, Object: named})
		r.ExpectEvents()
		if rv := r.Controller.LastSyncResourceVersion(); rv != "9" || r.Store.Snapshot().ResourceVersion() != "9" {
			t.Errorf("at %s, snapshot at %s, want 9", rv, r.Store.Snapshot().ResourceVersion())
		}
		if now := r.Controller.Status().FreshAt; now.Sub(fresh) != time.Second {
			t.Errorf("fresh %v after the list", now.Sub(fresh))
		}
		r.ExpectStored("a@2 b@3 c@4")
		r.CloseWatches()
		cachetest.Advance(6 * time.Second)
		r.ExpectRequests(0, "list@0 watch@4 watch@9")

		r.Send(watch.Event{Type: watch.Bookmark, Object: cachetest.Pod("", cachetest.WithVersion("8"))})
		cachetest.Advance(2 * time.Second)
		r.ExpectError(cachetest.ErrorIs(cache.ErrVersionRegressed))
		r.ExpectRequests(3, "list@ watch@24")
		r.ExpectEvents()
	})
}

// Without any bookmark the version ages, which costs a relist when it is gone, not
// more (W7).
func TestNoBookmarksEver(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.ExpectSynced()
		for range 24 {
			r.SkipVersions(100)
			r.Compact()
			cachetest.Advance(time.Hour)
		}
		if lists := r.Controller.Status().Lists; lists > 24*(1+2*12) {
			t.Errorf("%d lists in a day", lists)
		}
		r.ExpectStored("a@2 b@3 c@4")
		r.ExpectEvents()
	})
}
