package cache_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// Servers that go back in time: an etcd restored from backup is believed, from a
// consistent read; a replica that lags is waited for.

// ahead takes the informer some versions beyond what a restore will leave.
func ahead(r *rig) {
	r.expectSynced()
	r.Update(pod("a"))
	r.Delete("ns/b")
	r.Create(pod("d"))
	r.SkipVersions(50)
	r.Bookmark()
	r.expectEvents("U a@2→5", "D b@6", "A d@7")
	if rv := r.controller.LastSyncResourceVersion(); rv != "57" {
		r.t.Fatalf("at %s, want 57", rv)
	}
}

// expectRestored requires the state of version 4 and what came after it.
func expectRestored(r *rig) {
	r.t.Helper()
	r.expectEvents("D d@7", "U a@5→2", "A b@3")
	r.expectError(is(cache.ErrVersionRegressed))
	r.Update(pod("c"))
	r.expectEvents("U c@4→5")
	r.expectStored(r.served())
}

// The list says so (W27).
func TestRestoreSeenByTheList(t *testing.T) {
	inBubble(t, func(r *rig) {
		ahead(r)
		r.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
		r.Restore("4")
		pass(10 * time.Second)
		requests, _ := r.requestsSince(2)
		if requests != "watch@57 list@57 list@ watch@4" {
			t.Errorf("requests after the restore: %s", requests)
		}
		r.expectEvents("D d@7", "U a@5→2", "A b@3")
		r.expectStored(r.served())
	})
}

// The watch is accepted, and silent, for versions that will only come: the probe
// finds out (W28).
func TestRestoreSeenByTheProbe(t *testing.T) {
	inBubble(t, func(r *rig) {
		ahead(r)
		r.Restore("4")
		pass(10 * time.Second)
		if requests, _ := r.requestsSince(2); requests != "watch@57" {
			t.Fatalf("requests after the restore: %s", requests)
		}
		pass(10 * time.Minute)
		expectRestored(r)
	})
}

// The same where a proxy ends each silent watch before long.
func TestRestoreSeenBehindAProxy(t *testing.T) {
	inBubble(t, func(r *rig) {
		ahead(r)
		r.InjectWatchFault(-1, fake.Fault{CloseIn: 10 * time.Second})
		r.Restore("4")
		pass(10 * time.Minute)
		expectRestored(r)
		r.expectRates(time.Now().Add(-9 * time.Minute))
	})
}

// A bookmark says so.
func TestRestoreSeenByABookmark(t *testing.T) {
	inBubble(t, func(r *rig) {
		ahead(r)
		r.BookmarkEvery(time.Minute)
		r.Restore("4")
		pass(2 * time.Minute)
		expectRestored(r)
	})
}

// A replica that lags is not believed on a relist; the consistent read is (L9).
func TestRelistAtALaggingReplica(t *testing.T) {
	inBubble(t, func(r *rig) {
		ahead(r)
		r.InjectListFault(1, fake.Fault{ResourceVersion: "4"})
		r.Send(fake.ErrorEvent(fake.Expired()))
		pass(2 * time.Second)
		r.expectRequests(2, "list@57 list@ watch@57")
		r.expectEvents()
		r.expectStored("a@5 c@4 d@7")
	})
}

// A watch at a replica that lags is tried again there, and no list made (W29).
func TestWatchAtALaggingReplica(t *testing.T) {
	inBubble(t, func(r *rig) {
		ahead(r)
		r.InjectWatchFault(4, fake.Fault{Err: fake.TooLargeResourceVersion()})
		r.CloseWatches()
		pass(30 * time.Second)
		r.expectRequests(2, "watch@57 watch@57 watch@57 watch@57 watch@57")
		r.Update(pod("a"))
		r.expectEvents("U a@5→58")
	})
}

// One that lags for ever is found out by a consistent read.
func TestWatchIsAheadForEver(t *testing.T) {
	inBubble(t, func(r *rig) {
		ahead(r)
		began := time.Now()
		r.InjectWatchFault(-1, fake.Fault{EditEvent: func(watch.Event) []watch.Event {
			return []watch.Event{fake.ErrorEvent(fake.TooLargeResourceVersion())}
		}, CloseAfterEvents: 1})
		r.CloseWatches()
		r.BookmarkEvery(time.Millisecond)
		pass(time.Hour)
		r.expectRates(began.Add(time.Minute))
		consistent := 0
		for _, request := range r.Requests() {
			if request.Verb == "list" && request.Options.ResourceVersion == "" && request.Options.Limit != 1 {
				consistent++
			}
		}
		if consistent == 0 {
			t.Error("no consistent read in an hour of \"too large\"")
		}
		r.expectEvents()
	})
}

// The first list may come from anywhere; what follows may not be older.
func TestFirstListFromALaggingReplica(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.expectEvents("A a@2", "A b@3", "A c@4")
		r.expectStored("a@2 b@3 c@4")
	}, func(r *rig) {
		r.InjectListFault(1, fake.Fault{ResourceVersion: "3", EditList: func(list runtime.Object) runtime.Object {
			if n := len(list.(*corev1.PodList).Items); n != 2 {
				r.t.Errorf("the replica has %d Pods", n)
			}
			return list
		}})
	})
}

// Versions are compared as numbers, not as text (99 comes before 100), and beyond
// what fits a machine word.
func TestVersionsAreNumbers(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.expectSynced()
		r.SkipVersions(94)
		r.Update(pod("a"))
		r.Update(pod("a"))
		r.expectEvents("U a@2→99", "U a@99→100")
		r.Send(r.sent(watch.Modified, "b", "18446744073709551617"))
		r.Send(r.sent(watch.Modified, "b", "18446744073709551616"))
		r.expectEvents("U b@3→18446744073709551617")
		r.expectError(is(cache.ErrStale))
	})
}
