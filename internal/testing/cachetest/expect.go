// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/fake"
)

// Stored describes the store's content.
func (h *Harness) Stored() string { return Describe(h.Store.List()) }

// testSelector marks the requests of the test, which are not the informer's.
const testSelector = "metadata.name!=request-of-the-test"

// Requests returns the informer's requests.
func (h *Harness) Requests() []fake.Request {
	return slices.DeleteFunc(h.ListerWatcher.Requests(), func(q fake.Request) bool { return q.Options.FieldSelector == testSelector })
}

// Served describes the server's content.
func (h *Harness) Served() string {
	h.T.Helper()
	list, err := h.List(context.Background(), metav1.ListOptions{FieldSelector: testSelector})
	if err != nil {
		h.T.Fatal(err)
	}
	var pods []*corev1.Pod
	for i := range list.(*corev1.PodList).Items {
		pods = append(pods, &list.(*corev1.PodList).Items[i])
	}
	return Describe(pods)
}

// ExpectStored checks the store's content, such as "a@2 b@3", once all goroutines are idle.
func (h *Harness) ExpectStored(want string) {
	h.T.Helper()
	synctest.Wait()
	h.ExpectStoredNow(want)
}

// ExpectStoredNow checks the store's content without waiting, as a function that the informer calls
// must.
func (h *Harness) ExpectStoredNow(want string) {
	h.T.Helper()
	if got := h.Stored(); got != want {
		h.T.Errorf("the store holds [%s], want [%s]", got, want)
	}
}

// ExpectEvents checks the events since its last call.
func (h *Harness) ExpectEvents(want ...string) {
	h.T.Helper()
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if got := strings.Join(h.events, ", "); got != strings.Join(want, ", ") {
		h.T.Errorf("events [%s], want [%s]", got, strings.Join(want, ", "))
	}
	h.events = nil
}

// ExpectSynced checks the events of the initial list.
func (h *Harness) ExpectSynced() {
	h.T.Helper()
	h.ExpectEvents("A a@2", "A b@3", "A c@4")
	if !h.Controller.HasDelivered() {
		h.T.Error("not synced")
	}
}

// TakeErrors returns the errors reported since its last call.
func (h *Harness) TakeErrors() []error {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	errs := h.errs
	h.errs = nil
	return errs
}

// ExpectError checks that an error that matches was reported since the last call; see ErrorIs and
// ErrorContains.
func (h *Harness) ExpectError(matches func(error) bool) {
	h.T.Helper()
	errs := h.TakeErrors()
	if !slices.ContainsFunc(errs, matches) {
		h.T.Errorf("reported errors: %v", errs)
	}
}

// ExpectNoError checks that no error was reported since the last call.
func (h *Harness) ExpectNoError() {
	h.T.Helper()
	if errs := h.TakeErrors(); len(errs) > 0 {
		h.T.Errorf("reported errors: %v", errs)
	}
}

// RequestsSince describes the requests from the nth on, and returns the number of all requests. A
// request is "verb@resourceVersion", followed by a plus sign if it is a WatchList, and by three
// dots if it continues a list.
func (h *Harness) RequestsSince(n int) (string, int) {
	synctest.Wait()
	all := h.Requests()
	var words []string
	for _, request := range all[n:] {
		word := request.Verb + "@" + request.Options.ResourceVersion
		if request.Options.SendInitialEvents != nil {
			word += "+"
		}
		if request.Options.Continue != "" {
			word += "..."
		}
		words = append(words, word)
	}
	return strings.Join(words, " "), len(all)
}

// ExpectRequests checks the requests from the nth on as RequestsSince describes them, and returns
// the number of all requests.
func (h *Harness) ExpectRequests(n int, want string) int {
	h.T.Helper()
	got, all := h.RequestsSince(n)
	if got != want {
		h.T.Errorf("requests [%s], want [%s]", got, want)
	}
	return all
}

const (
	// MaxRequestsInAMinute is the greatest number of requests that an informer may make within 60
	// s.
	MaxRequestsInAMinute = 22
	// maxRequestsInTenMinutes is that of a longer time: 10, and one for each 5 s.
	maxRequestsInTenMinutes = 130
)

// ExpectRates checks what ExpectRequestRate does, and that there were at most 4 lists in any 60
// seconds.
func (h *Harness) ExpectRates(from time.Time) {
	h.T.Helper()
	h.expectRates(from, 4)
}

// ExpectRequestRate checks that there were requests after from, at most 22 in any 60 seconds, and
// at most 130 in any ten minutes.
func (h *Harness) ExpectRequestRate(from time.Time) {
	h.T.Helper()
	h.expectRates(from, MaxRequestsInAMinute)
}

func (h *Harness) expectRates(from time.Time, maxLists int) {
	h.T.Helper()
	requests := slices.DeleteFunc(h.Requests(), func(q fake.Request) bool { return q.Time.Before(from) })
	if len(requests) == 0 {
		h.T.Errorf("no request since %v", from)
	}
	for i, first := range requests {
		all, lists := countWithin(time.Minute, requests[i:])
		if all > MaxRequestsInAMinute || lists > maxLists {
			h.T.Errorf("%d requests and %d lists in the minute from %v", all, lists, first.Time.Sub(from))
			return
		}
		if all, _ := countWithin(10*time.Minute, requests[i:]); all > maxRequestsInTenMinutes {
			h.T.Errorf("%d requests in the ten minutes from %v", all, first.Time.Sub(from))
			return
		}
	}
}

// countWithin counts the requests within d of the first, and the lists among them.
func countWithin(d time.Duration, requests []fake.Request) (all, lists int) {
	for _, q := range requests {
		if q.Time.Sub(requests[0].Time) >= d {
			break
		}
		all++
		if q.Verb == "list" {
			lists++
		}
	}
	return all, lists
}

// UpdateEverySecond updates Pod a once a second, n times, in the background.
func (h *Harness) UpdateEverySecond(n int) {
	go func() {
		for range n {
			<-time.After(time.Second)
			h.Update(Pod("a"))
		}
	}()
}

// RunInBubble runs a subtest in a synctest bubble.
func RunInBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// Advance lets d pass in the bubble and blocks until all goroutines are idle.
func Advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// ErrorIs returns a predicate for errors.Is(err, target).
func ErrorIs(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// ErrorContains returns a predicate for errors whose text contains text.
func ErrorContains(text string) func(error) bool {
	return func(err error) bool { return err != nil && strings.Contains(err.Error(), text) }
}
