// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// relist ends the running watch so that a list follows, which finds that b was deleted and a
// updated.
func relist(h *cachetest.Harness) {
	h.ExpectSynced()
	cachetest.Advance(time.Minute) // or the watch counts as a short one
	h.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
	h.CloseWatches()
	h.Update(cachetest.Pod("a")) // 5
	h.Delete("ns/b")             // 6
}

// A list that fails with 410, or with 504 since its version is too large, is followed at once by a
// list without a version.
func TestUnavailableVersionFallsBackToConsistentList(t *testing.T) {
	message := apierrors.NewTimeoutError("Too large resource version: 4, current: 3", 1)
	for name, fault := range map[string]error{
		"410":                   fake.Expired(),
		"504 with the cause":    fake.TooLargeResourceVersion(),
		"504 with the message":  message,
		"504 wrapped":           &wrapped{message},
		"410 without a message": &apierrors.StatusError{ErrStatus: metav1.Status{Code: 410, Reason: metav1.StatusReasonGone}},
	} {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				h.InjectListFault(1, fake.Fault{Err: fault})
				relist(h)
				cachetest.Advance(7 * time.Second)
				h.ExpectRequests(0, "list@0 watch@4 watch@4 list@4 list@ watch@6")
				h.ExpectEvents("D b@3", "U a@2→5")
			})
		})
	}
}

type wrapped struct{ error }

func (w *wrapped) Unwrap() error { return w.error }

// If the list without a version fails too, the next list has no version either, and follows after
// the backoff.
func TestFailedConsistentListIsRetriedConsistently(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.InjectListFault(1, fake.Fault{Err: fake.Expired()})
		h.InjectListFault(1, fake.Fault{Err: fake.InternalError()})
		relist(h)
		cachetest.Advance(15 * time.Second)
		h.ExpectRequests(0, "list@0 watch@4 watch@4 list@4 list@ list@ watch@6")
		h.ExpectEvents("D b@3", "U a@2→5")
	})
}

// A list is stored completely or not at all.
func TestInvalidListIsRejected(t *testing.T) {
	pods := func(edit func(list *corev1.PodList)) func(runtime.Object) runtime.Object {
		return func(list runtime.Object) runtime.Object {
			edit(list.(*corev1.PodList))
			return list
		}
	}
	respond := func(list runtime.Object) func(runtime.Object) runtime.Object {
		return func(runtime.Object) runtime.Object { return list }
	}
	items := func(objects ...runtime.Object) func(runtime.Object) runtime.Object {
		list := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "9"}}
		for _, obj := range objects {
			list.Items = append(list.Items, runtime.RawExtension{Object: obj})
		}
		return respond(list)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	for name, bad := range map[string]struct {
		edit func(runtime.Object) runtime.Object
		err  string
	}{
		"no version":            {pods(func(list *corev1.PodList) { list.ResourceVersion = "" }), `no valid resourceVersion: ""`},
		"an empty body":         {respond(&corev1.PodList{}), "no valid resourceVersion"},
		"version 0":             {pods(func(list *corev1.PodList) { list.ResourceVersion = "0" }), "no valid resourceVersion"},
		"version abc":           {pods(func(list *corev1.PodList) { list.ResourceVersion = "abc" }), `no valid resourceVersion: "abc"`},
		"another kind":          {respond(&corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}}), "expected a list of *v1.Pod, got *v1.NodeList"},
		"a Table":               {respond(&metav1.Table{ListMeta: metav1.ListMeta{ResourceVersion: "9"}}), "Table, which holds rows for printing"},
		"an object":             {respond(cachetest.Pod("a", cachetest.WithVersion("9"))), "expected a list of *v1.Pod, got *v1.Pod"},
		"a Status":              {respond(&metav1.Status{Code: 500, Message: "broken", Reason: metav1.StatusReasonInternalError}), "broken"},
		"nil":                   {respond(nil), "the list is nil"},
		"a nil list":            {respond((*corev1.PodList)(nil)), "the list is nil"},
		"items of another kind": {items(node, node), `no item of the list is of its type: another type: expected *v1.Pod, got *v1.Node "n"`},
	} {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				h.InjectListFault(3, fake.Fault{EditList: bad.edit})
				relist(h)
				cachetest.Advance(7 * time.Second)
				h.ExpectEvents()
				h.ExpectStored("a@2 b@3 c@4")
				if status := h.Controller.Status(); !cachetest.ErrorContains(bad.err)(status.Err) || status.Phase != cache.PhaseRetrying {
					t.Errorf("phase %s, error %v, want %s", status.Phase, status.Err, bad.err)
				}
				h.ExpectError(cachetest.ErrorContains(bad.err))
				cachetest.Advance(time.Minute)
				h.ExpectEvents("D b@3", "U a@2→5")
				if status := h.Controller.Status(); status.Err != nil || status.Phase != cache.PhaseWatching {
					t.Errorf("status after recovery: %+v", status)
				}
			})
		})
		if strings.HasPrefix(bad.err, "no valid resourceVersion") {
			continue // an initial list may have none, as those of client-go's fake clientsets
		}
		t.Run(name+" initially", func(t *testing.T) {
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				if h.Controller.HasDelivered() || h.Store.Len() > 0 {
					t.Errorf("synced from %s with %s", name, h.Stored())
				}
				ctx, cancel := context.WithTimeout(h.T.Context(), time.Millisecond)
				defer cancel()
				if err := h.Controller.WaitForDelivery(ctx); !errors.Is(err, context.DeadlineExceeded) || !cachetest.ErrorContains(bad.err)(err) {
					t.Errorf("WaitForSync: %v, want an error with %s", err, bad.err)
				}
				cachetest.Advance(10 * time.Second)
				h.ExpectSynced()
			}, func(h *cachetest.Harness) { h.InjectListFault(2, fake.Fault{EditList: bad.edit}) })
		})
	}
}

// The pages of a first list whose continue token expires are not stored.
func TestExpiredContinueTokenRestartsTheFirstList(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectRequests(0, "list@0 list@... list@ watch@4")
		h.ExpectStored("a@2 b@3 c@4")
		h.ExpectEvents("A a@2", "A b@3", "A c@4")
	}, func(h *cachetest.Harness) {
		h.InjectListFault(1, fake.Fault{EditList: func(list runtime.Object) runtime.Object {
			pods := list.(*corev1.PodList)
			pods.Items, pods.Continue = pods.Items[:1], "token"
			return pods
		}})
		h.InjectListFault(1, fake.Fault{Err: fake.Expired()})
	})
}

// expectCompleteLists checks that each list begins with its first page.
func expectCompleteLists(h *cachetest.Harness) {
	h.T.Helper()
	requests, _ := h.RequestsSince(0)
	for list := range strings.SplitSeq(requests, "watch") {
		if words := strings.Fields(list); len(words) > 1 && strings.HasSuffix(words[1], "...") && strings.HasSuffix(words[0], "...") {
			h.T.Errorf("a list does not begin with its first page: %s", requests)
		}
	}
}

// A list that receives nothing is abandoned after its idle timeout.
func TestStalledListIsRetried(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		if phase := h.Controller.Status().Phase; phase != cache.PhaseListing {
			t.Errorf("phase %s", phase)
		}
		cachetest.Advance(7 * time.Minute)
		h.ExpectError(cachetest.ErrorIs(cache.ErrStalled))
		h.ExpectSynced()
	}, func(h *cachetest.Harness) { h.InjectListFault(1, fake.Fault{Hold: make(chan struct{})}) })
}

// The watch begins at the list's version, so that it delivers changes made before it was opened.
func TestChangesBetweenListAndWatchAreDelivered(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectEvents("A a@2", "A b@3", "A c@4", "D b@5", "A d@6")
		h.ExpectStored("a@2 c@4 d@6")
	}, func(h *cachetest.Harness) {
		h.InjectListFault(1, fake.Fault{EditList: func(list runtime.Object) runtime.Object {
			h.Delete("ns/b")
			h.Create(cachetest.Pod("d"))
			return list
		}})
	})
}

// A relist emits no event for unchanged objects. Deletions precede additions and updates, and a
// recreated object is a deletion and an addition.
func TestRelistDeliversOnlyChanges(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.Send(fake.ErrorEvent(fake.Expired()))
		cachetest.Advance(2 * time.Second)
		h.ExpectEvents()
		kept, _ := h.Store.GetByKey("ns/c")
		h.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
		h.CloseWatches()
		h.Update(cachetest.Pod("a"))
		h.Delete("ns/b")
		h.Create(cachetest.Pod("b"))
		h.Create(cachetest.Pod("d"))
		cachetest.Advance(20 * time.Second)
		h.ExpectEvents("D b@3", "U a@2→5", "A b@7", "A d@8")
		if again, _ := h.Store.GetByKey("ns/c"); again != kept {
			t.Error("an unchanged object was replaced")
		}
	})
}

// A read during a relist returns the old state or the new one.
func TestRelistIsAtomic(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.InjectListFault(1, fake.Fault{EditList: func(list runtime.Object) runtime.Object {
			h.ExpectStoredNow("a@2 b@3 c@4")
			return list
		}})
		relist(h)
		snapshot := h.Store.Snapshot()
		cachetest.Advance(7 * time.Second)
		h.ExpectStored("a@5 c@4")
		if got := cachetest.Describe(snapshot.List()); got != "a@2 b@3 c@4" || snapshot.ResourceVersion() != "4" {
			t.Errorf("the snapshot before the relist holds [%s] at %s", got, snapshot.ResourceVersion())
		}
		if now := h.Store.Snapshot().ResourceVersion(); now != "6" {
			t.Errorf("the snapshot after the relist is at %s", now)
		}
		h.ExpectEvents("D b@3", "U a@2→5")
	})
}

// While the initial list fails, WaitForSync and Status return its error. The error handler receives
// the error of each attempt once.
func TestForbiddenInitialListIsReported(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		cachetest.Advance(time.Minute)
		ctx, cancel := context.WithTimeout(h.T.Context(), time.Second)
		defer cancel()
		err := h.Controller.WaitForDelivery(ctx)
		if !apierrors.IsForbidden(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("WaitForSync: %v", err)
		}
		status := h.Controller.Status()
		if !apierrors.IsForbidden(status.Err) || status.Synced || status.Phase != cache.PhaseRetrying || !status.Freshness.FreshAt.IsZero() || status.Freshness.ResourceVersion != "" {
			t.Errorf("status %+v", status)
		}
		if n := len(h.TakeErrors()); n != status.FailedAttempts || uint64(n) != status.Requests.Lists || n != len(h.Requests()) {
			t.Errorf("%d errors, %d attempts, %d lists, %d requests", n, status.FailedAttempts, status.Requests.Lists, len(h.Requests()))
		}
		h.ClearFaults()
		cachetest.Advance(31 * time.Second)
		h.ExpectSynced()
		if err := h.Controller.WaitForDelivery(h.T.Context()); err != nil {
			t.Errorf("WaitForSync: %v", err)
		}
	}, func(h *cachetest.Harness) { h.InjectListFault(-1, fake.Fault{Err: fake.Forbidden()}) })
}
