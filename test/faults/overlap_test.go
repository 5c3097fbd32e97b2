// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"testing"
	"time"

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
				if n := h.Controller.Status().Relists["HistoryChanged"]; n != 1 {
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

// TestUnavailableOverlapIsConfirmedOnce restarts API servers, which then have no history. Each
// watch is resumed at once, and one list in half an hour confirms what was missed. It is no error.
func TestUnavailableOverlapIsConfirmedOnce(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		for range 3 {
			h.Update(cachetest.Pod("a"))
			cachetest.Advance(time.Second)
			h.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
			h.CloseWatches()
			cachetest.Advance(14 * time.Second)
			if n := wholeLists(h.Requests()); n != 1 {
				t.Fatalf("%d lists within a minute", n)
			}
			h.ExpectStored(h.Served())
		}
		cachetest.Advance(5 * time.Minute)
		if n := wholeLists(h.Requests()); n != 2 {
			t.Errorf("%d lists, want one that confirms the history", n)
		}
		h.Update(cachetest.Pod("a"))
		cachetest.Advance(time.Second)
		h.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
		h.CloseWatches()
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

// TestServerThatRepeatsNothingIsNotAskedAgain lets the server start each watch at its own version,
// whatever was requested. Two lists without a difference end the overlap, and a list with another
// cause starts it again.
func TestServerThatRepeatsNothingIsNotAskedAgain(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		breakConnection := func() {
			h.Update(cachetest.Pod("a"))
			cachetest.Advance(10 * time.Second)
			h.CloseWatches()
			cachetest.Advance(20 * time.Minute)
		}
		for range 6 {
			breakConnection()
		}
		if n := wholeLists(h.Requests()); n != 3 {
			t.Errorf("%d lists, want the initial one and two more", n)
		}
		if !h.Controller.Status().HistoryUnchecked {
			t.Error("Status does not say that watches are resumed unchecked")
		}
		h.Expire()
		cachetest.Advance(time.Minute)
		if h.Controller.Status().HistoryUnchecked {
			t.Error("watches are resumed unchecked after a list with another cause")
		}
		h.ExpectStored(h.Served())
		h.TakeErrors()
	}, func(h *cachetest.Harness) {
		h.Source = &faultySource{Harness: h, watch: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.ResourceVersion = h.ResourceVersion()
			return h.Watch(ctx, options)
		}}
	})
}
