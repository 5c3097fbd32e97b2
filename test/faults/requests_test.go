// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// options returns the options of the nth request, and its TimeoutSeconds, which is random, apart
// from them.
func options(h *cachetest.Harness, n int) (options metav1.ListOptions, timeout time.Duration) {
	options = h.Requests()[n].Options
	if options.TimeoutSeconds != nil {
		timeout = time.Duration(*options.TimeoutSeconds) * time.Second
		options.TimeoutSeconds = nil
	}
	return options, timeout
}

// expectOptions checks the options of the nth request. The tests of client-go's users compare them,
// so they must not have other fields. A watch has a timeout of five to ten minutes, a list has
// none.
func expectOptions(h *cachetest.Harness, n int, verb string, want metav1.ListOptions) {
	h.T.Helper()
	got, timeout := options(h, n)
	if diff := cmp.Diff(want, got); diff != "" || h.Requests()[n].Verb != verb {
		h.T.Errorf("request %d is a %s, want a %s; options (-want +got):\n%s", n, h.Requests()[n].Verb, verb, diff)
	}
	if verb == "watch" && (timeout < 5*time.Minute || timeout >= 10*time.Minute) || verb == "list" && timeout != 0 {
		h.T.Errorf("request %d, a %s, has a timeout of %v", n, verb, timeout)
	}
}

func TestListAndWatchRequestOptions(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		expectOptions(h, 0, "list", metav1.ListOptions{ResourceVersion: "0", Limit: 500})
		expectOptions(h, 1, "watch", metav1.ListOptions{ResourceVersion: "4", AllowWatchBookmarks: true})
		h.InjectListFault(1, fake.Fault{Err: fake.Expired()})
		h.Send(fake.ErrorEvent(fake.Expired()))
		cachetest.Advance(10 * time.Second)
		expectOptions(h, 2, "list", metav1.ListOptions{ResourceVersion: "4"})
		expectOptions(h, 3, "list", metav1.ListOptions{Limit: 500})
		expectOptions(h, 4, "watch", metav1.ListOptions{ResourceVersion: "4", AllowWatchBookmarks: true})
	})
}

func TestWatchListRequestOptions(t *testing.T) {
	sendInitialEvents := true
	byWatchList(t, func(h *cachetest.Harness) {
		expectOptions(h, 0, "watch", metav1.ListOptions{
			SendInitialEvents: &sendInitialEvents, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		})
		h.CloseWatches()
		cachetest.Advance(7 * time.Second)
		expectOptions(h, 1, "watch", metav1.ListOptions{ResourceVersion: "4", AllowWatchBookmarks: true})
		h.Send(fake.ErrorEvent(fake.Expired()))
		cachetest.Advance(2 * time.Second)
		expectOptions(h, 2, "watch", metav1.ListOptions{
			SendInitialEvents: &sendInitialEvents, AllowWatchBookmarks: true,
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, ResourceVersion: "4",
		})
	})
}

// The first page of a list has its options and the limit, and one at a version
// resourceVersionMatch. Later pages have the token and the limit, and neither version nor match.
func TestPagedListRequestOptions(t *testing.T) {
	cachetest.InBubbleWithOptions(t, cache.ReflectorOptions{PageSize: 2}, func(h *cachetest.Harness) {
		h.InjectListFault(1, fake.Fault{Err: fake.Expired()})
		h.Send(fake.ErrorEvent(fake.Expired()))
		cachetest.Advance(2 * time.Second)
		expectOptions(h, 0, "list", metav1.ListOptions{ResourceVersion: "0", Limit: 2})
		expectOptions(h, 2, "list", metav1.ListOptions{
			ResourceVersion: "4", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, Limit: 2,
		})
		expectOptions(h, 3, "list", metav1.ListOptions{Limit: 2})
		token := h.Requests()[4].Options.Continue
		if token == "" {
			h.T.Fatal("the second page has no token")
		}
		expectOptions(h, 4, "list", metav1.ListOptions{Limit: 2, Continue: token})
		h.ExpectStored("a@2 b@3 c@4")
		if lists := h.Controller.Status().Requests.Lists; lists != 4 {
			h.T.Errorf("Status counts %d list requests, want 4", lists)
		}
	})
	cachetest.InBubbleWithOptions(t, cache.ReflectorOptions{PageSize: -1}, func(h *cachetest.Harness) {
		expectOptions(h, 0, "list", metav1.ListOptions{ResourceVersion: "0"})
	})
}

// The timeouts are random so that the watches of many informers do not end at once.
func TestWatchTimeoutsAreRandom(t *testing.T) {
	timeouts := make(map[time.Duration]bool)
	for range 5 {
		cachetest.InBubble(t, func(h *cachetest.Harness) {
			_, timeout := options(h, 1)
			timeouts[timeout] = true
		})
	}
	if len(timeouts) < 2 {
		t.Errorf("five watches have the timeouts %v", timeouts)
	}
}
