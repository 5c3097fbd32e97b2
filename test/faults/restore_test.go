package faults_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// Servers that go back in time: an etcd restored from backup is believed, from a
// consistent read; a replica that lags is waited for.

// ahead takes the informer some versions beyond what a restore will leave.
func ahead(r *cachetest.Harness) {
	r.ExpectSynced()
	r.Update(cachetest.Pod("a"))
	r.Delete("ns/b")
	r.Create(cachetest.Pod("d"))
	r.SkipVersions(50)
	r.Bookmark()
	r.ExpectEvents("U a@2→5", "D b@6", "A d@7")
	if rv := r.Controller.LastSyncResourceVersion(); rv != "57" {
		r.T.Fatalf("at %s, want 57", rv)
	}
}

// expectRestored requires the state of version 4 and what came after it.
func expectRestored(r *cachetest.Harness) {
	r.T.Helper()
	r.ExpectEvents("D d@7", "U a@5→2", "A b@3")
	r.ExpectError(cachetest.ErrorIs(cache.ErrVersionRegressed))
	r.Update(cachetest.Pod("c"))
	r.ExpectEvents("U c@4→5")
	r.ExpectStored(r.Served())
}

// The list says so (W27).
func TestRestoreSeenByTheList(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		ahead(r)
		r.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
		r.Restore("4")
		cachetest.Advance(10 * time.Second)
		requests, _ := r.RequestsSince(2)
		if requests != "watch@57 list@57 list@ watch@4" {
			t.Errorf("requests after the restore: %s", requests)
		}
		r.ExpectEvents("D d@7", "U a@5→2", "A b@3")
		r.ExpectStored(r.Served())
	})
}

// The watch is accepted, and silent, for versions that will only come: the probe
// finds out (W28).
func TestRestoreSeenByTheProbe(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		ahead(r)
		r.Restore("4")
		cachetest.Advance(10 * time.Second)
		if requests, _ := r.RequestsSince(2); requests != "watch@57" {
			t.Fatalf("requests after the restore: %s", requests)
		}
		cachetest.Advance(10 * time.Minute)
		expectRestored(r)
	})
}

// The same where a proxy ends each silent watch before long.
func TestRestoreSeenBehindAProxy(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		ahead(r)
		r.InjectWatchFault(-1, fake.Fault{CloseIn: 10 * time.Second})
		r.Restore("4")
		cachetest.Advance(10 * time.Minute)
		expectRestored(r)
		r.ExpectRates(time.Now().Add(-9 * time.Minute))
	})
}

// A bookmark says so.
func TestRestoreSeenByABookmark(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		ahead(r)
		r.BookmarkEvery(time.Minute)
		r.Restore("4")
		cachetest.Advance(2 * time.Minute)
		expectRestored(r)
	})
}

// A replica that lags is not believed on a relist; the consistent read is (L9).
func TestRelistAtALaggingReplica(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		ahead(r)
		r.InjectListFault(1, fake.Fault{ResourceVersion: "4"})
		r.Send(fake.ErrorEvent(fake.Expired()))
		cachetest.Advance(2 * time.Second)
		r.ExpectRequests(2, "list@57 list@ watch@57")
		r.ExpectEvents()
		r.ExpectStored("a@5 c@4 d@7")
	})
}

// A watch at a replica that lags is tried again there, and no list made (W29).
func TestWatchAtALaggingReplica(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		ahead(r)
		r.InjectWatchFault(4, fake.Fault{Err: fake.TooLargeResourceVersion()})
		r.CloseWatches()
		cachetest.Advance(30 * time.Second)
		r.ExpectRequests(2, "watch@57 watch@57 watch@57 watch@57 watch@57")
		r.Update(cachetest.Pod("a"))
		r.ExpectEvents("U a@5→58")
	})
}

// One that lags for ever is found out by a consistent read.
func TestWatchIsAheadForEver(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		ahead(r)
		began := time.Now()
		r.InjectWatchFault(-1, fake.Fault{EditEvent: func(watch.Event) []watch.Event {
			return []watch.Event{fake.ErrorEvent(fake.TooLargeResourceVersion())}
		}, CloseAfterEvents: 1})
		r.CloseWatches()
		r.BookmarkEvery(time.Millisecond)
		cachetest.Advance(time.Hour)
		r.ExpectRates(began.Add(time.Minute))
		consistent := 0
		for _, request := range r.Requests() {
			if request.Verb == "list" && request.Options.ResourceVersion == "" && request.Options.Limit != 1 {
				consistent++
			}
		}
		if consistent == 0 {
			t.Error("no consistent read in an hour of \"too large\"")
		}
		r.ExpectEvents()
	})
}

// The first list may come from anywhere; what follows may not be older.
func TestFirstListFromALaggingReplica(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.ExpectEvents("A a@2", "A b@3", "A c@4")
		r.ExpectStored("a@2 b@3 c@4")
	}, func(r *cachetest.Harness) {
		r.InjectListFault(1, fake.Fault{ResourceVersion: "3", EditList: func(list runtime.Object) runtime.Object {
			if n := len(list.(*corev1.PodList).Items); n != 2 {
				r.T.Errorf("the replica has %d Pods", n)
			}
			return list
		}})
	})
}

// Versions are compared as numbers, not as text (99 comes before 100), and beyond
// what fits a machine word.
func TestVersionsAreNumbers(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.ExpectSynced()
		r.SkipVersions(94)
		r.Update(cachetest.Pod("a"))
		r.Update(cachetest.Pod("a"))
		r.ExpectEvents("U a@2→99", "U a@99→100")
		r.Send(sent(r, watch.Modified, "b", "18446744073709551617"))
		r.Send(sent(r, watch.Modified, "b", "18446744073709551616"))
		r.ExpectEvents("U b@3→18446744073709551617")
		r.ExpectError(cachetest.ErrorIs(cache.ErrStale))
	})
}
