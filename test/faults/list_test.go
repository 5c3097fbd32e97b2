package faults_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// relist has the running watch end so that a list follows, with a deletion of b and
// an update of a to be found by it.
func relist(r *cachetest.Harness) {
	r.ExpectSynced()
	cachetest.Advance(time.Minute) // so that the watch is not taken for one that ends at once
	r.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
	r.CloseWatches()
	r.Update(cachetest.Pod("a")) // 5
	r.Delete("ns/b")             // 6
}

// The versions asked for: a 410 or a "too large" of the list, and nothing else,
// lead to "", at once (T4, T5).
func TestListAtAVersionThatIsNotThere(t *testing.T) {
	message := apierrors.NewTimeoutError("Too large resource version: 4, current: 3", 1)
	for name, fault := range map[string]error{
		"410":                          fake.Expired(),
		"504 with the cause":           fake.TooLargeResourceVersion(),
		"504 with the message":         message,
		"504 wrapped":                  &wrapped{message},
		"410 without a word about why": &apierrors.StatusError{ErrStatus: metav1.Status{Code: 410, Reason: metav1.StatusReasonGone}},
	} {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubble(t, func(r *cachetest.Harness) {
				r.InjectListFault(1, fake.Fault{Err: fault})
				relist(r)
				cachetest.Advance(7 * time.Second)
				r.ExpectRequests(0, "list@0 watch@4 watch@4 list@4 list@ watch@6")
				r.ExpectEvents("D b@3", "U a@2→5")
			})
		})
	}
}

type wrapped struct{ error }

func (w *wrapped) Unwrap() error { return w.error }

// While the list at "" is denied too, the next one goes there directly, and only
// after the backoff.
func TestListGoneAndThenFailing(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.InjectListFault(1, fake.Fault{Err: fake.Expired()})
		r.InjectListFault(1, fake.Fault{Err: fake.InternalError()})
		relist(r)
		cachetest.Advance(15 * time.Second)
		r.ExpectRequests(0, "list@0 watch@4 watch@4 list@4 list@ list@ watch@6")
		r.ExpectEvents("D b@3", "U a@2→5")
	})
}

// What a list answers is believed as a whole or not at all (L3, L4, L5, L7).
func TestListNotToBeBelieved(t *testing.T) {
	pods := func(edit func(list *corev1.PodList)) func(runtime.Object) runtime.Object {
		return func(list runtime.Object) runtime.Object {
			edit(list.(*corev1.PodList))
			return list
		}
	}
	answer := func(list runtime.Object) func(runtime.Object) runtime.Object {
		return func(runtime.Object) runtime.Object { return list }
	}
	for name, bad := range map[string]struct {
		edit func(runtime.Object) runtime.Object
		err  string
	}{
		"no version":    {pods(func(list *corev1.PodList) { list.ResourceVersion = "" }), `no valid resourceVersion: ""`},
		"an empty body": {answer(&corev1.PodList{}), "no valid resourceVersion"},
		"version 0":     {pods(func(list *corev1.PodList) { list.ResourceVersion = "0" }), "no valid resourceVersion"},
		"version abc":   {pods(func(list *corev1.PodList) { list.ResourceVersion = "abc" }), `no valid resourceVersion: "abc"`},
		"another kind":  {answer(&corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}}), "expected a list of *v1.Pod, got *v1.NodeList"},
		"a Table":       {answer(&metav1.Table{ListMeta: metav1.ListMeta{ResourceVersion: "9"}}), "Table, which holds rows for printing"},
		"an object":     {answer(cachetest.Pod("a", cachetest.WithVersion("9"))), "expected a list of *v1.Pod, got *v1.Pod"},
		"a status":      {answer(&metav1.Status{Code: 500, Message: "broken", Reason: metav1.StatusReasonInternalError}), "broken"},
		"nil":           {answer(nil), "the list is nil"},
		"a nil list":    {answer((*corev1.PodList)(nil)), "the list is nil"},
		"another kind inside": {answer(&metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "9"}, Items: []runtime.RawExtension{
			{Object: cachetest.Pod("a", cachetest.WithVersion("8"))}, {Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}}}), `item 1 of the list: expected *v1.Pod, got *v1.Node "n"`},
		"nothing inside": {answer(&metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "9"}, Items: []runtime.RawExtension{{}}}), "item 0 of the list: object is nil"},
		"a nil pointer inside": {answer(&metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "9"},
			Items: []runtime.RawExtension{{Object: (*corev1.Pod)(nil)}}}), "item 0 of the list: object is nil"},
		"an item without name": {pods(func(list *corev1.PodList) { list.Items[1].Name = "" }), `item 1 of the list: *v1.Pod in namespace "ns": metadata.name is empty`},
		"an empty item":        {pods(func(list *corev1.PodList) { list.Items[0] = corev1.Pod{} }), `item 0 of the list: *v1.Pod in namespace "": metadata.name is empty`},
	} {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubble(t, func(r *cachetest.Harness) {
				r.InjectListFault(3, fake.Fault{EditList: bad.edit})
				relist(r)
				cachetest.Advance(7 * time.Second)
				r.ExpectEvents()
				r.ExpectStored("a@2 b@3 c@4")
				if status := r.Controller.Status(); !cachetest.ErrorContains(bad.err)(status.Err) || status.Phase != cache.PhaseRetrying {
					t.Errorf("status %s, error %v, want %s", status.Phase, status.Err, bad.err)
				}
				r.ExpectError(cachetest.ErrorContains(bad.err))
				cachetest.Advance(time.Minute)
				r.ExpectEvents("D b@3", "U a@2→5")
				if status := r.Controller.Status(); status.Err != nil || status.Phase != cache.PhaseWatching {
					t.Errorf("status afterwards %+v", status)
				}
			})
		})
		if strings.HasPrefix(bad.err, "no valid resourceVersion") {
			continue // a first list may have none: client-go's fake clientsets give none
		}
		t.Run(name+" at first", func(t *testing.T) {
			cachetest.InBubble(t, func(r *cachetest.Harness) {
				if r.Controller.HasSynced() || r.Store.Len() > 0 {
					t.Errorf("synced from %s with %s", name, r.Stored())
				}
				ctx, cancel := context.WithTimeout(r.T.Context(), time.Millisecond)
				defer cancel()
				if err := r.Controller.WaitForSync(ctx); !errors.Is(err, context.DeadlineExceeded) || !cachetest.ErrorContains(bad.err)(err) {
					t.Errorf("WaitForSync: %v, want it to say %s", err, bad.err)
				}
				cachetest.Advance(10 * time.Second)
				r.ExpectSynced()
			}, func(r *cachetest.Harness) { r.InjectListFault(2, fake.Fault{EditList: bad.edit}) })
		})
	}
}

// Pages of one list are of one version. If a continue token expires, all pages are
// dropped and the list begins anew (L1).
func TestGoneBetweenPages(t *testing.T) {
	cachetest.InBubbleWithOptions(t, cache.ReflectorOptions{PageSize: 1}, func(r *cachetest.Harness) {
		r.ExpectRequests(0, "list@0 watch@4")
		r.ExpectSynced()
		r.CloseWatches()
		r.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
		pages := 0
		r.InjectListFault(2, fake.Fault{EditList: func(list runtime.Object) runtime.Object { pages++; return list }})
		r.InjectListFault(1, fake.Fault{Err: fake.Expired()})
		r.Delete("ns/b")
		r.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
		cachetest.Advance(30 * time.Second)
		if pages != 2 {
			t.Fatalf("%d pages before the fault", pages)
		}
		r.ExpectStored(r.Served())
		r.ExpectEvents("D b@3")
		expectNoMixture(r)
	})
}

// expectNoMixture requires that a continue token was always used for the list that
// gave it: after an error a list begins with its first page.
func expectNoMixture(r *cachetest.Harness) {
	r.T.Helper()
	requests, _ := r.RequestsSince(0)
	for list := range strings.SplitSeq(requests, "watch") {
		if words := strings.Fields(list); len(words) > 1 && strings.HasSuffix(words[1], "...") && strings.HasSuffix(words[0], "...") {
			r.T.Errorf("a list does not begin with its first page: %s", requests)
		}
	}
}

// A list that gets stuck is given up, and one that is slow but goes on is not (T12).
func TestListStuck(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		if phase := r.Controller.Status().Phase; phase != cache.PhaseListing {
			t.Errorf("phase %s", phase)
		}
		cachetest.Advance(7 * time.Minute)
		r.ExpectError(cachetest.ErrorIs(cache.ErrStalled))
		r.ExpectSynced()
	}, func(r *cachetest.Harness) { r.InjectListFault(1, fake.Fault{Hold: make(chan struct{})}) })
}

// A change between list and watch is not lost (W25), nor is a deletion in the first
// moment of the watch (L12).
func TestChangeBetweenListAndWatch(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.ExpectEvents("A a@2", "A b@3", "A c@4", "D b@5", "A d@6")
		r.ExpectStored("a@2 c@4 d@6")
	}, func(r *cachetest.Harness) {
		r.InjectListFault(1, fake.Fault{EditList: func(list runtime.Object) runtime.Object {
			r.Delete("ns/b")
			r.Create(cachetest.Pod("d"))
			return list
		}})
	})
}

// A relist that finds nothing changed says nothing (L14); deletions come before
// additions and updates, and a recreated object is a deletion and an addition (W26).
func TestRelistSaysWhatChanged(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.ExpectSynced()
		r.Send(fake.ErrorEvent(fake.Expired()))
		cachetest.Advance(2 * time.Second)
		r.ExpectEvents()
		kept, _ := r.Store.GetByKey("ns/c")
		r.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
		r.CloseWatches()
		r.Update(cachetest.Pod("a"))
		r.Delete("ns/b")
		r.Create(cachetest.Pod("b"))
		r.Create(cachetest.Pod("d"))
		cachetest.Advance(20 * time.Second)
		r.ExpectEvents("D b@3", "U a@2→5", "A b@7", "A d@8")
		if again, _ := r.Store.GetByKey("ns/c"); again != kept {
			t.Error("an unchanged object was replaced")
		}
	})
}

// Reads during a relist see all of it or nothing (C25).
func TestRelistIsAtomic(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.InjectListFault(1, fake.Fault{EditList: func(list runtime.Object) runtime.Object {
			expectStoredNow(r, "a@2 b@3 c@4")
			return list
		}})
		relist(r)
		snapshot := r.Store.Snapshot()
		cachetest.Advance(7 * time.Second)
		r.ExpectStored("a@5 c@4")
		if got := cachetest.Describe(snapshot.List()); got != "a@2 b@3 c@4" || snapshot.ResourceVersion() != "4" {
			t.Errorf("the older snapshot shows [%s] at %s", got, snapshot.ResourceVersion())
		}
		if now := r.Store.Snapshot().ResourceVersion(); now != "6" {
			t.Errorf("the snapshot after the relist is at %s", now)
		}
		r.ExpectEvents("D b@3", "U a@2→5")
	})
}

func expectStoredNow(r *cachetest.Harness, want string) {
	if got := r.Stored(); got != want {
		r.T.Errorf("the store holds [%s], want [%s]", got, want)
	}
}

// Before the first list has succeeded, WaitForSync says why, and the informer says
// so in its status; the error handler hears each attempt once.
func TestFirstListForbidden(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		cachetest.Advance(time.Minute)
		ctx, cancel := context.WithTimeout(r.T.Context(), time.Second)
		defer cancel()
		err := r.Controller.WaitForSync(ctx)
		if !apierrors.IsForbidden(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("WaitForSync: %v", err)
		}
		status := r.Controller.Status()
		if !apierrors.IsForbidden(status.Err) || status.Synced || status.Phase != cache.PhaseRetrying || !status.FreshAt.IsZero() || status.ResourceVersion != "" {
			t.Errorf("status: %+v", status)
		}
		if n := len(r.TakeErrors()); n != status.Attempts || uint64(n) != status.Lists || n != len(r.Requests()) {
			t.Errorf("%d errors of %d attempts in %d lists, %d requests", n, status.Attempts, status.Lists, len(r.Requests()))
		}
		r.ClearFaults()
		cachetest.Advance(31 * time.Second)
		r.ExpectSynced()
		if err := r.Controller.WaitForSync(r.T.Context()); err != nil {
			t.Errorf("WaitForSync: %v", err)
		}
	}, func(r *cachetest.Harness) { r.InjectListFault(-1, fake.Fault{Err: fake.Forbidden()}) })
}
