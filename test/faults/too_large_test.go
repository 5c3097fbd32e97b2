// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// tooLarge are the forms in which servers refuse a version that they have not reached. Old servers
// say so in a message only, of the error or of a cause without a type, and all ask the client to
// wait for a second.
func tooLarge() map[string]error {
	const message = "Too large resource version: 4, current: 3"
	withCause := fake.TooLargeResourceVersion().(*apierrors.StatusError)
	withCause.ErrStatus.Details.RetryAfterSeconds = 1
	causeMessage := apierrors.NewTimeoutError("timed out", 1)
	causeMessage.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "Too large resource version"}}
	return map[string]error{
		"message of a cause":      causeMessage,
		"cause":                   fake.TooLargeResourceVersion(),
		"cause and Retry-After":   withCause,
		"message":                 apierrors.NewTimeoutError(message, 0),
		"message and Retry-After": apierrors.NewTimeoutError(message, 1),
	}
}

// TestTooLargeVersionOfAListIsNotRetried answers a list with 504 "Too large resource version". One
// list without a version follows at once: neither the informer nor the client repeats the request.
func TestTooLargeVersionOfAListIsNotRetried(t *testing.T) {
	for name, fault := range tooLarge() {
		t.Run(name, func(t *testing.T) {
			overEachClient(t, cache.ReflectorOptions{}, func(h *cachetest.Harness, n *network) {
				h.InjectListFault(1, fake.Fault{Err: fault})
				relist(h)
				began := time.Now()
				cachetest.Advance(30 * time.Second)
				if want := "list@0 watch@4 watch@4 list@4 list@ watch@6"; n.requests() != want {
					h.T.Errorf("requests [%s], want [%s]", n.requests(), want)
				}
				if waited := n.since(began, 3); waited > 100*time.Millisecond {
					h.T.Errorf("the list without a version followed after %v", waited)
				}
				h.ExpectEvents("D b@3", "U a@2→5")
			})
		})
	}
}

// TestTooLargeVersionOfAWatchIsResumedThenRead answers watches with 504 "Too large resource
// version", as the response and in the stream, as a replica that lags does. The watch is resumed
// with backoff, and the fifth failure is followed by a consistent read.
func TestTooLargeVersionOfAWatchIsResumedThenRead(t *testing.T) {
	for name, fault := range tooLarge() {
		for carrier, injected := range map[string]fake.Fault{
			"as the response": {Err: fault},
			"in the stream":   {EditEvent: replaceBy(fake.ErrorEvent(fault))},
		} {
			t.Run(name+" "+carrier, func(t *testing.T) {
				overEachClient(t, cache.ReflectorOptions{}, func(h *cachetest.Harness, n *network) {
					cachetest.Advance(time.Second)
					h.ExpectSynced()
					h.InjectWatchFault(5, injected)
					h.CloseWatches()
					h.Update(cachetest.Pod("a"))
					cachetest.Advance(3 * time.Minute)
					if want := "list@0 watch@4 watch@4 watch@4 watch@4 watch@4 watch@4 list@ watch@5"; n.requests() != want {
						h.T.Errorf("requests [%s], want [%s]", n.requests(), want)
					}
					h.ExpectEvents("U a@2→5")
					h.ExpectRequestRate(h.Requests()[0].Time)
				})
			})
		}
	}
}
