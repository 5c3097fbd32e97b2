// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// skipped marks a state that skipTransform ignores, and failed one that it refuses.
var (
	skipped = cachetest.WithLabel("x", "skip")
	failed  = cachetest.WithLabel("x", "fail")
)

func skipTransform(p *corev1.Pod) (*corev1.Pod, error) {
	switch p.Labels["x"] {
	case "skip":
		return nil, fmt.Errorf("terminating: %w", cache.ErrSkip)
	case "fail":
		return nil, errors.New("transform error")
	}
	return p, nil
}

// runSkipping runs test with an informer of the Pods a, b and c whose transform ignores states, for
// each way in which an initial state arrives. The Pod d was always ignored.
func runSkipping(t *testing.T, test func(s *sharedHarness, recorder *eventRecorder)) {
	t.Helper()
	filter := func(p *corev1.Pod) bool { return p.Labels["x"] != "no" }
	byNode := cache.ByObject(func(p *corev1.Pod) ([]string, error) { return []string{p.Spec.NodeName}, nil })
	for name, options := range map[string]cache.InformerOptions[*corev1.Pod]{
		"list":      {},
		"WatchList": {WatchList: true},
		"packed":    {Packed: true},
		"filter":    {Packed: true, Filter: filter},
		"index":     {Indexers: cache.Indexers[*corev1.Pod]{"node": byNode}, Filter: filter},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := &eventRecorder{}
			options.Transform = skipTransform
			runShared(t, options, func(s *sharedHarness) {
				synctest.Wait()
				if got := sortWords(recorder.take()); got != "Addi ns/a a@2, Addi ns/b b@3, Addi ns/c c@4" {
					t.Errorf("initial events [%s]", got)
				}
				test(s, recorder)
				for _, err := range s.TakeErrors() {
					if _, ok := errors.AsType[*cache.ObjectError](err); ok {
						t.Errorf("reported %v", err)
					}
				}
			}, func(s *sharedHarness) {
				s.add(recorder, cache.HandlerOptions{})
				s.Create(cachetest.Pod("d", skipped))
			})
		})
	}
}

// TestSkippedStateIsIgnored skips states of an event, of a list and of a deletion. The stored state
// stays, without an event, an error or a relist, and the informer's version advances.
func TestSkippedStateIsIgnored(t *testing.T) {
	runSkipping(t, func(s *sharedHarness, recorder *eventRecorder) {
		s.Update(cachetest.Pod("a", skipped))
		s.Create(cachetest.Pod("e", skipped))
		s.Delete("ns/d")
		s.expect(recorder, "")
		requests := len(s.Requests())
		cachetest.Advance(time.Minute)
		if got := len(s.Requests()); got != requests {
			t.Errorf("%d requests after skipped states", got-requests)
		}
		expectSkipped(s, "a@2 b@3 c@4", "8")

		s.Expire()
		s.Update(cachetest.Pod("b", skipped))
		s.Update(cachetest.Pod("c"))
		cachetest.Advance(2 * time.Minute)
		s.expect(recorder, "Update ns/c c@4 c@10")
		expectSkipped(s, "a@2 b@3 c@10", "10")

		s.Delete("ns/b")
		s.expect(recorder, "Delete ns/b b@3")
		s.Update(cachetest.Pod("a"))
		s.Update(cachetest.Pod("e"))
		s.expect(recorder, "Update ns/a a@2 a@12, Add ns/e e@13")
	})
}

// expectSkipped checks the stored Pods, the version and that nothing is quarantined.
func expectSkipped(s *sharedHarness, stored, version string) {
	s.T.Helper()
	if got := cachetest.Describe(s.SharedInformer.Store().List()); got != stored {
		s.T.Errorf("stored [%s], want [%s]", got, stored)
	}
	status := s.Status()
	if status.Freshness.ResourceVersion != version || status.Store.Quarantined != 0 || status.Store.Unnamed != 0 || status.Err != nil {
		s.T.Errorf("status %+v, want version %s", status, version)
	}
	if _, exists, err := s.SharedInformer.Store().Get(cachetest.Pod("d")); exists || err != nil {
		s.T.Errorf("Get(d) = %v, %v, want a Pod that does not exist", exists, err)
	}
}

// TestSkippedRecreatedObjectIsDeleted recreates a Pod while no watch is open, and skips its states.
// The old one is deleted.
func TestSkippedRecreatedObjectIsDeleted(t *testing.T) {
	runSkipping(t, func(s *sharedHarness, recorder *eventRecorder) {
		s.Expire()
		s.Delete("ns/a")
		s.Create(cachetest.Pod("a", skipped))
		cachetest.Advance(2 * time.Minute)
		s.expect(recorder, "Delete ns/a a@2")
		expectSkipped(s, "b@3 c@4", "7")
		s.Update(cachetest.Pod("a"))
		s.expect(recorder, "Add ns/a a@8")
	})
}

// TestSkippedStateAfterAFailedOne skips the state that follows one that could not be stored. Lists
// that are to bring a good state end.
func TestSkippedStateAfterAFailedOne(t *testing.T) {
	runSkipping(t, func(s *sharedHarness, recorder *eventRecorder) {
		s.Update(cachetest.Pod("a", failed))
		synctest.Wait()
		s.ExpectError(cachetest.ErrorContains("transform error"))
		s.Update(cachetest.Pod("a", skipped))
		synctest.Wait()
		requests := len(s.Requests())
		cachetest.Advance(time.Minute)
		if got := len(s.Requests()); got != requests {
			t.Errorf("%d requests after a skipped state", got-requests)
		}
		s.expect(recorder, "")
		expectSkipped(s, "a@2 b@3 c@4", "7")
	})
}

// TestSkippedStateIsReplayed sends an event of a skipped state once more. It does not end the
// watch.
func TestSkippedStateIsReplayed(t *testing.T) {
	runSkipping(t, func(s *sharedHarness, recorder *eventRecorder) {
		a := s.Update(cachetest.Pod("a", skipped))
		synctest.Wait()
		requests := len(s.Requests())
		s.Send(watch.Event{Type: watch.Modified, Object: a})
		cachetest.Advance(time.Second)
		if got := len(s.Requests()); got != requests {
			t.Errorf("%d requests after a replayed event", got-requests)
		}
		s.expect(recorder, "")
	})
}

// TestSkippedStateIsNotResynced resyncs an object whose newest state was skipped.
func TestSkippedStateIsNotResynced(t *testing.T) {
	recorder := &eventRecorder{}
	runShared(t, cache.InformerOptions[*corev1.Pod]{Transform: skipTransform}, func(s *sharedHarness) {
		s.Update(cachetest.Pod("a", skipped))
		synctest.Wait()
		recorder.take()
		cachetest.Advance(time.Hour)
		synctest.Wait()
		if got := sortWords(recorder.take()); got != "Update ns/a a@2 a@2, Update ns/b b@3 b@3, Update ns/c c@4 c@4" {
			t.Errorf("events [%s]", got)
		}
	}, func(s *sharedHarness) { s.add(recorder, cache.HandlerOptions{ResyncPeriod: time.Hour}) })
}
