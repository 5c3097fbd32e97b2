// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// A resumed watch starts before the last changes received, and the server must repeat them first:
// the overlap.

// TestOvertakingRestoreIsDetected restores etcd, and lets the new history overtake the version
// reached before the watch is resumed. The server is then at no older version than before.
func TestOvertakingRestoreIsDetected(t *testing.T) {
	for name, write := range map[string]func(h *cachetest.Harness){
		"other objects": func(h *cachetest.Harness) {
			for range 60 {
				h.Update(cachetest.Pod("c"))
			}
		},
		"the same objects in the same versions": func(h *cachetest.Harness) {
			h.Update(cachetest.Pod("a", cachetest.WithLabel("epoch", "restored")))
			h.SkipVersions(60)
		},
		"nothing": func(h *cachetest.Harness) { h.SkipVersions(60) },
	} {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				advanceBeyondRestore(h)
				h.Restore("4")
				write(h)
				cachetest.Advance(10 * time.Second)
				h.ExpectStored(h.Served())
				h.ExpectError(cachetest.ErrorIs(cache.ErrHistoryChanged))
				if n := h.Controller.Status().Requests.Relists["HistoryChanged"]; n != 1 {
					t.Errorf("%d relists because of the history, want 1", n)
				}
			})
		})
	}
}

// TestBrokenConnectionsUnderChangesCauseNoList breaks 15 connections under 50 changes a second.
func TestBrokenConnectionsUnderChangesCauseNoList(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		for range 15 {
			for range 50 {
				h.Update(cachetest.Pod("a"))
				cachetest.Advance(20 * time.Millisecond)
			}
			h.CloseWatches()
			cachetest.Advance(10 * time.Second)
		}
		h.ExpectStored(h.Served())
		h.ExpectNoError()
		cachetest.Advance(time.Hour)
		if n := wholeLists(h.Requests()); n != 1 {
			t.Errorf("%d lists, want the initial one", n)
		}
	})
}

// TestRestartedServerCostsOneRequest restarts API servers, which then have no history. Each watch
// is resumed at once, and one request for the newest object proves that nothing was missed. It is
// no error.
func TestRestartedServerCostsOneRequest(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		for n := range 3 {
			h.Update(cachetest.Pod("a"))
			cachetest.Advance(time.Second)
			h.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
			h.CloseWatches()
			cachetest.Advance(20 * time.Minute)
			if lists, asked := wholeLists(h.Requests()), askedFor(h.Requests(), "a"); lists != 1 || asked != n+1 {
				t.Fatalf("%d lists and %d requests for the newest object, want one and %d", lists, asked, n+1)
			}
			h.ExpectStored(h.Served())
		}
		h.ExpectNoError()
	})
}

// askedFor returns the number of requests for one object.
func askedFor(requests []fake.Request, name string) (n int) {
	for _, request := range requests {
		if request.Options.FieldSelector == "metadata.namespace=ns,metadata.name="+name {
			n++
		}
	}
	return n
}

// TestUnansweredQuestionCausesOneList restarts API servers that do not answer the question: one
// list in half an hour confirms what was missed.
func TestUnansweredQuestionCausesOneList(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		restart := func() {
			h.Update(cachetest.Pod("a"))
			cachetest.Advance(time.Second)
			h.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
			h.InjectListFault(1, fake.Fault{Err: apierrors.NewServiceUnavailable("starting")})
			h.CloseWatches()
			cachetest.Advance(10 * time.Second)
		}
		for range 3 {
			restart()
			if n := wholeLists(h.Requests()); n != 1 {
				t.Fatalf("%d lists within a minute", n)
			}
		}
		cachetest.Advance(5 * time.Minute)
		if n := wholeLists(h.Requests()); n != 2 {
			t.Errorf("%d lists, want one that confirms the history", n)
		}
		restart()
		cachetest.Advance(20 * time.Minute)
		if n := wholeLists(h.Requests()); n != 2 {
			t.Errorf("%d lists, want none within half an hour of the last", n)
		}
		cachetest.Advance(20 * time.Minute)
		if n := wholeLists(h.Requests()); n != 3 {
			t.Errorf("%d lists, want another one after half an hour", n)
		}
		h.ExpectNoError()
	})
}

// TestRestoreDuringTheConfirmDelayIsDetected restores etcd after an API server has restarted, which
// had no history.
func TestRestoreDuringTheConfirmDelayIsDetected(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		advanceBeyondRestore(h)
		h.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
		h.CloseWatches()
		cachetest.Advance(time.Second)
		h.Restore("4")
		for range 60 {
			h.Update(cachetest.Pod("c"))
		}
		cachetest.Advance(6 * time.Minute)
		h.ExpectStored(h.Served())
	})
}

// TestServerThatRepeatsNothingIsNotListed lets the server start each watch at its own version,
// whatever was requested. The newest object proves its history.
func TestServerThatRepeatsNothingIsNotListed(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		for range 6 {
			h.CloseWatches()
			cachetest.Advance(10 * time.Second) // until the answer: an event before it would contradict the history
			h.Update(cachetest.Pod("a"))
			cachetest.Advance(20 * time.Minute)
		}
		if n := wholeLists(h.Requests()); n != 1 {
			t.Errorf("%d lists, want the initial one", n)
		}
		h.ExpectStored(h.Served())
		h.ExpectNoError()
	}, func(h *cachetest.Harness) {
		h.Source = &faultySource{Harness: h, watch: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.ResourceVersion = h.ResourceVersion()
			return h.Watch(ctx, options)
		}}
	})
}
