// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// keyRecorder is a key handler.
type keyRecorder struct {
	mu     sync.Mutex
	events []string
}

func (r *keyRecorder) handle(event cache.KeyEvent) {
	reason := "Changed"
	switch {
	case event.InInitialList:
		reason = "InInitialList"
	case event.Resync:
		reason = "Resync"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf("%s %s", reason, strings.TrimPrefix(event.Key, "ns/")))
}

// expect checks the events since its last call, in any order.
func (r *keyRecorder) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	got := slices.Sorted(slices.Values(r.events))
	slices.Sort(want)
	if r.events = nil; !slices.Equal(got, want) {
		t.Errorf("the key handler received %q, want %q", got, want)
	}
}

func (s *sharedHarness) addKeys(r *keyRecorder, options cache.HandlerOptions) {
	s.T.Helper()
	if _, err := s.AddKeyHandler(r.handle, options); err != nil {
		s.T.Fatal(err)
	}
}

// TestKeyHandlerReceivesReason checks the reasons of keys of the initial list, of one object or
// several, of changes and of resyncs, for a handler added before Run and one added later.
func TestKeyHandlerReceivesReason(t *testing.T) {
	var before, later keyRecorder
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		before.expect(t, "InInitialList a", "InInitialList b", "InInitialList c")
		s.addKeys(&later, cache.HandlerOptions{ResyncPeriod: time.Hour})
		later.expect(t, "InInitialList a", "InInitialList b", "InInitialList c")
		s.Update(cachetest.Pod("a"))
		s.Delete("ns/b")
		before.expect(t, "Changed a", "Changed b")
		later.expect(t, "Changed a", "Changed b")
		cachetest.Advance(time.Hour)
		before.expect(t)
		later.expect(t, "Resync a", "Resync c")
		s.Expire()
		s.Delete("ns/c")
		s.Create(cachetest.Pod("d"))
		cachetest.Advance(2 * time.Minute)
		before.expect(t, "Changed c", "Changed d")
	}, func(s *sharedHarness) { s.addKeys(&before, cache.HandlerOptions{}) })

	t.Run("one object", func(t *testing.T) {
		var one keyRecorder
		runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(*sharedHarness) {
			one.expect(t, "InInitialList c")
		}, func(s *sharedHarness) {
			s.Delete("ns/a")
			s.Delete("ns/b")
			s.addKeys(&one, cache.HandlerOptions{})
		})
	})
}
