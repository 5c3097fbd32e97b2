// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake"
)

var yes = true

func TestWatchReplaysEventsSinceAVersion(t *testing.T) {
	lw := threePods()
	lw.Update(pod("b")) // 5
	lw.Delete("ns/a")   // 6
	w := mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "3"})
	expectEvents(t, w, "ADDED c@4", "MODIFIED b@5", "DELETED a@6")
	lw.Create(pod("a"))
	expectEvents(t, w, "ADDED a@7")
	w.Stop()
	expectEnd(t, w)
	if n := lw.OpenWatches(); n != 0 {
		t.Errorf("got %d open watches after Stop, want none", n)
	}
}

func TestWatchStartsWithTheCurrentObjects(t *testing.T) {
	lw := threePods()
	for _, version := range []string{"", "0"} {
		expectEvents(t, mustWatch(t, lw, metav1.ListOptions{ResourceVersion: version}), "ADDED a@2", "ADDED b@3", "ADDED c@4")
	}
	no := false
	w := mustWatch(t, lw, metav1.ListOptions{SendInitialEvents: &no, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	expectEvents(t, w)
	lw.Delete("ns/a")
	expectEvents(t, w, "DELETED a@5")
}

func TestWatchList(t *testing.T) {
	lw := threePods()
	opts := metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
	w := mustWatch(t, lw, opts)
	expectEvents(t, w, "ADDED a@2", "ADDED b@3", "ADDED c@4", "BOOKMARK @4!")
	lw.Update(pod("a"))
	expectEvents(t, w, "MODIFIED a@5")

	opts.ResourceVersion = "4"
	opts.LabelSelector = "app=y"
	expectEvents(t, mustWatch(t, lw, opts), "ADDED b@3", "BOOKMARK @5!")
	opts.AllowWatchBookmarks = false
	expectEvents(t, mustWatch(t, lw, opts), "ADDED b@3")
	opts.ResourceVersion = "6"
	expectEnd(t, mustWatch(t, lw, opts), "ERROR 504 Timeout")
}

func TestWatchAtACompactedVersionIsExpired(t *testing.T) {
	lw := threePods()
	open := mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "4"})
	lw.Compact()
	expectEvents(t, open)
	expectEnd(t, mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "3"}), "ERROR 410 Expired")
	expectEvents(t, mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "4"}))

	lw.LimitHistory(2)
	for range 3 {
		lw.Update(pod("a"))
	}
	expectEvents(t, open, "MODIFIED a@5", "MODIFIED a@6", "MODIFIED a@7")
	expectEnd(t, mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "4"}), "ERROR 410 Expired")
	expectEvents(t, mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "5"}), "MODIFIED a@6", "MODIFIED a@7")
}

// The watch cache and etcd keep different parts of the history: a watch is 410 at a version that a
// list can still have.
func TestTruncatedWatchCacheKeepsLists(t *testing.T) {
	lw := threePods()
	open := mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "3"})
	first, _ := mustList(t, lw, metav1.ListOptions{Limit: 1})
	page, _ := meta.ListAccessor(first)
	lw.Update(pod("b")) // 5
	lw.TruncateWatchCache()
	expectEvents(t, open, "ADDED c@4", "MODIFIED b@5")
	expectEnd(t, mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "4"}), "ERROR 410 Expired")
	expectEvents(t, mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "5"}))

	_, items := mustList(t, lw, metav1.ListOptions{ResourceVersion: "3", Limit: 5})
	expectItems(t, items, "a@2", "b@3")
	_, items = mustList(t, lw, metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	expectItems(t, items, "a@2", "b@3")
	_, items = mustList(t, lw, metav1.ListOptions{Continue: page.GetContinue()})
	expectItems(t, items, "b@3", "c@4")
	_, items = mustList(t, lw, metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, Limit: 5})
	expectItems(t, items, "a@2", "b@5", "c@4")

	lw.Compact()
	for _, match := range []metav1.ResourceVersionMatch{"", metav1.ResourceVersionMatchExact} {
		_, err := lw.List(context.Background(), metav1.ListOptions{ResourceVersion: "4", ResourceVersionMatch: match, Limit: 5})
		if !apierrors.IsResourceExpired(err) {
			t.Errorf("list with match %q at a compacted version: got %v, want Expired", match, err)
		}
	}
	_, items = mustList(t, lw, metav1.ListOptions{ResourceVersion: "4"})
	expectItems(t, items, "a@2", "b@5", "c@4")
}

// A restored collection can assign the versions of the lost history again, to other states of the
// same objects, and overtake it. Watches then start in the new history.
func TestRestoredHistoryOvertakesTheLostOne(t *testing.T) {
	lw := threePods()
	lost := lw.Update(pod("a", label("app", "lost"))) // 5
	lw.Update(pod("b"))                               // 6
	lw.Restore("4")
	reused := lw.Update(pod("a", label("app", "new"))) // 5
	if reused.ResourceVersion != lost.ResourceVersion || reused.UID != lost.UID || reused.Labels["app"] == lost.Labels["app"] {
		t.Errorf("got %v, want the version and UID of %v with other content", reused.ObjectMeta, lost.ObjectMeta)
	}
	lw.SkipVersions(1)
	lw.Update(pod("c")) // 7
	expectEvents(t, mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "6"}), "MODIFIED c@7")
	expectEvents(t, mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "4"}), "MODIFIED a@5", "MODIFIED c@7")
	lw.TruncateWatchCache() // as the restart of kube-apiserver that a restore requires
	expectEnd(t, mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "6"}), "ERROR 410 Expired")
}

func TestWatchAtAFutureVersionSkipsEarlierEvents(t *testing.T) {
	lw := threePods()
	w := mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "6"})
	lw.Update(pod("a"))
	lw.Update(pod("a"))
	expectEvents(t, w)
	lw.Update(pod("a"))
	expectEvents(t, w, "MODIFIED a@7")
}

func TestSelectorsDetermineTheEventType(t *testing.T) {
	lw := fake.NewListerWatcher(&corev1.Pod{})
	byLabel := mustWatch(t, lw, metav1.ListOptions{LabelSelector: "app=x"})
	byNode := mustWatch(t, lw, metav1.ListOptions{FieldSelector: "spec.nodeName=n1"})
	lw.Create(pod("a"))                                  // 2: matches neither
	lw.Update(pod("a", label("app", "x")))               // 3: matches byLabel
	lw.Update(pod("a", label("app", "x"), onNode("n1"))) // 4: matches both
	lw.Update(pod("a", onNode("n1")))                    // 5: matches byNode
	lw.Delete("ns/a")                                    // 6
	e := []watch.Event{<-byLabel.ResultChan(), <-byLabel.ResultChan(), <-byLabel.ResultChan()}
	if got := fmt.Sprint(describe(e[0]), " ", describe(e[1]), " ", describe(e[2])); got != "ADDED a@3 MODIFIED a@4 DELETED a@5" {
		t.Errorf("by label: got %s", got)
	}
	if last := e[2].Object.(*corev1.Pod); last.Labels["app"] != "x" || last.Spec.NodeName != "n1" {
		t.Errorf("DELETED for the selector: got %v, want the last matching state", last)
	}
	expectEvents(t, byLabel)
	expectEvents(t, byNode, "ADDED a@4", "MODIFIED a@5", "DELETED a@6")
}

func TestBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw := threePods()
		without := mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "4"})
		with := mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "4", AllowWatchBookmarks: true, LabelSelector: "app=x"})
		lw.Update(pod("b"))
		lw.SkipVersions(95)
		lw.Bookmark()
		expectEvents(t, with, "BOOKMARK @100")
		expectEvents(t, without, "MODIFIED b@5")

		lw.BookmarkEvery(time.Minute)
		periodic := mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "4", AllowWatchBookmarks: true})
		expectEvents(t, periodic, "MODIFIED b@5")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		expectEvents(t, periodic, "BOOKMARK @100", "BOOKMARK @100")
		expectEvents(t, with)
	})
}

func TestWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw := threePods()
		ten := int64(10)
		timed := mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "3", TimeoutSeconds: &ten})
		ctx, cancel := context.WithCancel(t.Context())
		cancelled, err := lw.Watch(ctx, metav1.ListOptions{ResourceVersion: "4"})
		must(t, err)
		time.Sleep(9 * time.Second)
		synctest.Wait()
		expectEvents(t, timed, "ADDED c@4")
		cancel()
		time.Sleep(time.Second)
		synctest.Wait()
		expectEnd(t, timed)
		expectEnd(t, cancelled)
		if _, err := lw.Watch(ctx, metav1.ListOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("Watch with a cancelled context: got %v, want Canceled", err)
		}

		open := mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "4"})
		lw.Update(pod("a"))
		lw.CloseWatches()
		expectEnd(t, open, "MODIFIED a@5")
		open.Stop()
		if n := lw.OpenWatches(); n != 0 {
			t.Errorf("got %d open watches, want none", n)
		}
	})
}

// A slow reader does not block writes or other readers. It loses no events while the history holds
// them, and gets 410 after that.
func TestSlowReaderGets410AfterTheHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw := fake.NewListerWatcher(&corev1.Pod{})
		lw.Create(pod("a"))
		lw.LimitHistory(50)
		slow := mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "2"})
		quick := mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "2"})
		for i := range 140 { // 100 in the channel, 1 in the sending goroutine, the rest in the history
			lw.Update(pod("a"))
			if got, _ := buffered(quick); len(got) != 1 {
				t.Fatalf("quick reader got %v after write %d, want one event", got, i)
			}
		}
		for i := range 140 {
			if got, want := describe(<-slow.ResultChan()), fmt.Sprintf("MODIFIED a@%d", i+3); got != want {
				t.Fatalf("slow reader got %s, want %s", got, want)
			}
		}
		for range 300 {
			lw.Update(pod("a"))
		}
		var last string
		n := 0
		for e := range slow.ResultChan() {
			last = describe(e)
			n++
		}
		if last != "ERROR 410 Expired" || n > 110 {
			t.Errorf("reader 300 events behind with a history of 50 got %d events and then %s, want a 410", n, last)
		}
		stuck := mustWatch(t, lw, metav1.ListOptions{ResourceVersion: lw.ResourceVersion()})
		for range 150 {
			lw.Update(pod("a"))
		}
		stuck.Stop() // must end the sending goroutine, or the bubble fails
	})
}

func TestConcurrentWatchesReceiveAllWritesInOrder(t *testing.T) {
	const writers, writes, watches = 4, 4 * orderWrites, 8
	lw := fake.NewListerWatcher(&corev1.Pod{})
	var done sync.WaitGroup
	for i := range watches {
		w := mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "1"})
		done.Go(func() {
			for v := 2; v < 2+writers*writes; v++ {
				if got := (<-w.ResultChan()).Object.(*corev1.Pod).ResourceVersion; got != fmt.Sprint(v) {
					t.Errorf("watch %d: got version %s, want %d", i, got, v)
					return
				}
			}
		})
	}
	for i := range writers {
		done.Go(func() {
			name := fmt.Sprint("p", i)
			lw.Create(pod(name))
			for range writes - 1 {
				lw.Update(pod(name))
			}
		})
	}
	done.Wait()
}

func TestInvalidWatchOptionsAreErrors(t *testing.T) {
	lw := threePods()
	for _, opts := range []metav1.ListOptions{
		{LabelSelector: "a b"},
		{FieldSelector: "spec.x=1"},
		{ResourceVersion: "x"},
		{SendInitialEvents: &yes},
	} {
		if _, err := lw.Watch(context.Background(), opts); !apierrors.IsBadRequest(err) && !apierrors.IsInvalid(err) {
			t.Errorf("Watch(%+v): got %v, want BadRequest or Invalid", opts, err)
		}
	}
}
