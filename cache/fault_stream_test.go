package cache_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// sent is an event out of turn, of a Pod with the UID of the stored one.
func (r *rig) sent(eventType watch.EventType, name, rv string) watch.Event {
	p := pod(name, version(rv))
	if stored, ok := r.store.GetByKey("ns/" + name); ok {
		p.UID = stored.UID
	}
	return watch.Event{Type: eventType, Object: p}
}

// Events that bring nothing new change nothing and end nothing (W1, W2).
func TestReplayedEvents(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.expectSynced()
		for _, event := range []watch.Event{
			r.sent(watch.Added, "a", "2"), r.sent(watch.Modified, "b", "3"), r.sent(watch.Added, "c", "4"), r.sent(watch.Added, "c", "4"),
			r.sent(watch.Deleted, "ghost", "4"), r.sent(watch.Deleted, "ghost", "3"),
		} {
			r.Send(event)
		}
		r.SkipVersions(10)
		r.Send(r.sent(watch.Deleted, "ghost", "12"))
		r.Send(r.sent(watch.Deleted, "ghost", "13"))
		r.expectEvents()
		r.expectNoError()
		r.expectRequests(0, "list@0 watch@4")
		if rv := r.controller.LastSyncResourceVersion(); rv != "13" {
			t.Errorf("the deletions of an unknown object took the version to %s, want 13", rv)
		}
		r.expectStored("a@2 b@3 c@4")
	})
}

// Events that would take an object back in time are dropped, and their stream with
// them (W4).
func TestStaleEvents(t *testing.T) {
	for name, stale := range map[string]func(r *rig) watch.Event{
		"an older state of an object":    func(r *rig) watch.Event { return r.sent(watch.Modified, "a", "2") },
		"an older state, as an addition": func(r *rig) watch.Event { return r.sent(watch.Added, "a", "3") },
		"an unknown object from before":  func(r *rig) watch.Event { return r.sent(watch.Added, "z", "3") },
		"a deletion of an older state":   func(r *rig) watch.Event { return r.sent(watch.Deleted, "a", "4") },
		"the same version, another object": func(r *rig) watch.Event {
			e := r.sent(watch.Modified, "a", "5")
			e.Object.(*corev1.Pod).UID = "other"
			return e
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.Update(pod("a")) // 5
				r.expectEvents("A a@2", "A b@3", "A c@4", "U a@2→5")
				r.Send(stale(r))
				r.expectEvents()
				r.expectError(is(cache.ErrStale))
				r.Update(pod("b"))
				pass(2 * time.Second)
				r.expectRequests(0, "list@0 watch@4 watch@5")
				r.expectEvents("U b@3→6")
				if now := r.controller.LastSyncResourceVersion(); now != "6" {
					t.Errorf("at version %s", now)
				}
			})
		})
	}
}

// A replay without end does not turn into a storm, and a window of events told again
// on each watch leads to a relist.
func TestReplayWindowForEver(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.Update(pod("a"))
		r.expectEvents("A a@2", "A b@3", "A c@4", "U a@2→5")
		r.InjectWatchFault(-1, fake.Fault{EditEvent: func(e watch.Event) []watch.Event {
			return []watch.Event{{Type: watch.Modified, Object: pod("b", version("2"))}, e}
		}})
		r.CloseWatches()
		began := time.Now()
		for range 100 {
			pass(30 * time.Second)
			r.Update(pod("c"))
		}
		r.expectRates(began.Add(time.Minute))
		pass(2 * time.Minute)
		r.expectStored(r.served())
	})
}

// A deletion counts if it is not older than what is stored, whatever version it
// carries (W5).
func TestDeletionWithTheLastUpdatesVersion(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.expectSynced()
		r.Update(pod("c")) // 5
		r.Send(r.sent(watch.Deleted, "a", "2"))
		r.expectEvents("U c@4→5", "D a@2")
		r.expectNoError()
		if rv := r.controller.LastSyncResourceVersion(); rv != "5" {
			t.Errorf("at version %s, want 5", rv)
		}
		r.Send(r.sent(watch.Deleted, "b", "3"))
		r.expectEvents("D b@3")
		r.CloseWatches()
		pass(6 * time.Second)
		r.expectRequests(0, "list@0 watch@4 watch@5")
		// The server still has both: a relist brings them back, as it must.
		r.Send(fake.ErrorEvent(fake.Expired()))
		pass(2 * time.Second)
		r.expectEvents("A a@2", "A b@3")
	})
}

// MODIFIED of an unknown object is an addition (W3), ADDED of a known one an update,
// and another UID under a known name a deletion and an addition (W26).
func TestEventTypesFollowTheStore(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.expectSynced()
		r.SkipVersions(20)
		r.Send(r.sent(watch.Modified, "d", "10"))
		r.Send(r.sent(watch.Added, "a", "11"))
		other := r.sent(watch.Modified, "b", "12")
		other.Object.(*corev1.Pod).UID = types.UID("recreated")
		r.Send(other)
		r.expectEvents("A d@10", "U a@2→11", "D b@3", "A b@12")
		r.expectNoError()
	})
}

// An item without a version is applied, never compared, and moves nothing
// (consumers 1, W19).
func TestEventsWithoutVersion(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.expectSynced()
		r.Send(r.sent(watch.Modified, "a", ""))
		r.Send(r.sent(watch.Added, "d", ""))
		r.Send(r.sent(watch.Deleted, "b", ""))
		r.expectEvents("U a@2→", "A d@", "D b@")
		r.expectNoError()
		if rv := r.controller.LastSyncResourceVersion(); rv != "4" {
			t.Errorf("at version %s, want 4", rv)
		}
	})
}

// Bookmarks move the version and are never an object or an event (W31); one below
// the version reached says that the server went back, and is not believed before a
// consistent list says so, too (W28).
func TestBookmarks(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.expectSynced()
		fresh := r.controller.Status().FreshAt
		pass(time.Second)
		named := pod("a", version("9"), label("x", "y"))
		r.SkipVersions(20)
		r.Send(watch.Event{Type: watch.Bookmark, Object: named})
		r.expectEvents()
		if rv := r.controller.LastSyncResourceVersion(); rv != "9" || r.store.Snapshot().ResourceVersion() != "9" {
			t.Errorf("at %s, snapshot at %s, want 9", rv, r.store.Snapshot().ResourceVersion())
		}
		if now := r.controller.Status().FreshAt; now.Sub(fresh) != time.Second {
			t.Errorf("fresh %v after the list", now.Sub(fresh))
		}
		r.expectStored("a@2 b@3 c@4")
		r.CloseWatches()
		pass(6 * time.Second)
		r.expectRequests(0, "list@0 watch@4 watch@9")

		r.Send(watch.Event{Type: watch.Bookmark, Object: pod("", version("8"))})
		pass(2 * time.Second)
		r.expectError(is(cache.ErrVersionRegressed))
		r.expectRequests(3, "list@ watch@24")
		r.expectEvents()
	})
}

// Without any bookmark the version ages, which costs a relist when it is gone, not
// more (W7).
func TestNoBookmarksEver(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.expectSynced()
		for range 24 {
			r.SkipVersions(100)
			r.Compact()
			pass(time.Hour)
		}
		if lists := r.controller.Status().Lists; lists > 24*(1+2*12) {
			t.Errorf("%d lists in a day", lists)
		}
		r.expectStored("a@2 b@3 c@4")
		r.expectEvents()
	})
}
