// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// A list whose pages continue forever is an error. The informer retries with backoff, within its
// budget of requests, and syncs once the server answers correctly.
func TestListThatDoesNotEndIsAnError(t *testing.T) {
	for name, token := range map[string]func(n int) string{
		"one token forever":            func(int) string { return againToken },
		"two tokens by turns":          func(n int) string { return fmt.Sprint(againToken, n%2) },
		"new tokens, the same objects": func(n int) string { return fmt.Sprint(againToken, n) },
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			between, source := editLists(func(_ metav1.ListOptions, list metav1.ListInterface) error {
				n++
				list.SetContinue(token(n))
				return nil
			})
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				cachetest.Advance(10 * time.Minute)
				h.ExpectError(cachetest.ErrorContains("the list does not end"))
				if h.Controller.HasDelivered() {
					t.Error("synced from a list that does not end")
				}
				h.ExpectRequestRate(h.Requests()[0].Time)
				source.editLists(nil)
				cachetest.Advance(3 * time.Minute)
				h.ExpectSynced()
			}, between)
		})
	}
}

// If a continue token expires before a list is complete, the most recent state is requested in
// pages, and if that expires too, the list in one piece, at the version first asked for.
func TestExpiringContinueTokensCauseAWholeList(t *testing.T) {
	between, source := editLists(nil)
	cachetest.InBubbleWithOptions(t, cache.ReflectorOptions{PageSize: 1}, func(h *cachetest.Harness) {
		source.editLists(func(options metav1.ListOptions, _ metav1.ListInterface) error {
			if options.Continue != "" {
				return fake.Expired()
			}
			return nil
		})
		h.CloseWatches()
		h.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
		h.Update(cachetest.Pod("a"))
		n := len(h.Requests())
		cachetest.Advance(time.Minute)
		h.ExpectRequests(n, "watch@4 list@4 list@... list@ list@... list@4 watch@5")
		if whole := h.Requests()[n+5].Options; whole.Limit != 0 || whole.ResourceVersionMatch != "" {
			t.Errorf("the third list has the options %+v, want a version only", whole)
		}
		h.ExpectStored(h.Served())

		h.Send(fake.ErrorEvent(fake.Expired())) // a later relist begins with pages again
		cachetest.Advance(time.Minute)
		if again := h.Requests()[n+7]; again.Verb != "list" || again.Options.Limit != 1 {
			t.Errorf("the next relist is %+v, want one in pages", again)
		}
	}, between)
}

// A server that cannot list at one version any more is asked for its most recent state after a few
// failures, and for the version reached after that.
func TestListFailuresAtOneVersionCauseAConsistentList(t *testing.T) {
	for name, err := range map[string]error{
		"500": fake.InternalError(),
		"400": apierrors.NewBadRequest("resourceVersion: unknown"),
	} {
		t.Run(name, func(t *testing.T) {
			between, source := editLists(func(options metav1.ListOptions, _ metav1.ListInterface) error {
				if options.ResourceVersion != "" && options.ResourceVersion != "0" {
					return err
				}
				return nil
			})
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				h.ExpectSynced()
				h.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
				h.CloseWatches()
				h.Update(cachetest.Pod("a"))
				n := len(h.Requests())
				cachetest.Advance(3 * time.Minute)
				h.ExpectRequests(n, "watch@4 list@4 list@4 list@4 list@4 list@4 list@ watch@5")
				h.ExpectEvents("U a@2→5")

				source.editLists(nil)
				n = len(h.Requests())
				h.Send(fake.ErrorEvent(fake.Expired()))
				cachetest.Advance(time.Minute)
				h.ExpectRequests(n, "list@5 watch@5")
			}, between)
		})
	}
}

// If the most recent state cannot be listed either, lists at the version reached go on.
func TestFailedConsistentListIsFollowedByListsAtTheVersion(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.InjectListFault(8, fake.Fault{Err: fake.InternalError()})
		n := len(h.Requests())
		h.Send(fake.ErrorEvent(fake.Expired()))
		cachetest.Advance(5 * time.Minute)
		h.ExpectRequests(n, "list@4 list@4 list@4 list@4 list@4 list@ list@4 list@4 list@4 watch@4")
	})
}

// A server that is busy or refuses the client is not asked for consistent lists.
func TestUnavailableServerIsNotAskedForConsistentLists(t *testing.T) {
	for name, err := range map[string]error{
		"503": apierrors.NewServiceUnavailable("starting"), "429": fake.TooManyRequests(0), "403": fake.Forbidden(),
		"connection refused": cachetest.ErrConnectionRefused,
	} {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				h.ExpectSynced()
				h.InjectListFault(-1, fake.Fault{Err: err})
				h.Send(fake.ErrorEvent(fake.Expired()))
				cachetest.Advance(30 * time.Minute)
				for _, request := range h.Requests()[1:] {
					if request.Verb == "list" && request.Options.ResourceVersion == "" {
						t.Fatalf("a consistent list after %v", err)
					}
				}
			})
		})
	}
}
