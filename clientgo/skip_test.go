// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

var skipped = cachetest.WithLabel("skip", "yes")

// skipLabeled makes a transform that ignores Pods with the label skip, and renames the others.
func skipLabeled(t *testing.T, prefix string) func(clientcache.SharedIndexInformer) {
	t.Helper()
	return withTransform(t, func(obj any) (any, error) {
		pod := obj.(*corev1.Pod)
		if pod.Labels["skip"] != "" {
			return nil, fmt.Errorf("terminating: %w", cache.ErrSkip)
		}
		pod.Name = prefix + pod.Name
		return pod, nil
	})
}

// TestTransformIgnoresStates checks that a state for which a transform returns cache.ErrSkip
// changes nothing, also if the transform has renamed the stored object: in an event, in a list, and
// in a deletion, which is delivered with the last stored state.
func TestTransformIgnoresStates(t *testing.T) {
	for name, options := range map[string]clientgo.Options{"live": {}, "packed": {Packed: true}} {
		for _, prefix := range []string{"", "renamed-"} {
			cachetest.RunInBubble(t, name+" "+prefix, func(t *testing.T) {
				server := newServer("a", "b", "c")
				server.Create(cachetest.Pod("d", skipped))
				var failures errorRecorder
				h := run(t, server, options, skipLabeled(t, prefix), failures.handle(t))
				h.expectEvents("A "+prefix+"a@2 initial", "A "+prefix+"b@3 initial", "A "+prefix+"c@4 initial")
				server.Update(cachetest.Pod("a", skipped))
				server.Delete("ns/d")
				server.Create(cachetest.Pod("e", skipped))
				h.expectEvents()
				requests := server.verbs()
				cachetest.Advance(time.Minute)
				if got := server.verbs(); got != requests {
					t.Errorf("requests %s after skipped states, want %s", got, requests)
				}
				if got := h.informer.LastSyncResourceVersion(); got != "8" {
					t.Errorf("version %s, want 8", got)
				}
				server.relistAfter(func() {
					server.Update(cachetest.Pod("b", skipped))
					server.Delete("ns/c")
					server.Create(cachetest.Pod("c", skipped))
				})
				h.expectEvents("T ns/" + prefix + "c " + prefix + "c@4")
				server.Delete("ns/a")
				h.expectEvents("T ns/" + prefix + "a " + prefix + "a@2")
				server.Update(cachetest.Pod("b"))
				h.expectEvents("U " + prefix + "b@13")
				if keys := h.informer.GetStore().ListKeys(); len(keys) != 1 {
					t.Errorf("the store has the keys %q", keys)
				}
			})
		}
	}
}

// TestSkippedStateOfAnotherKeyIsKept renames each Pod to the name of the next one. A list in which
// all are skipped keeps them all.
func TestSkippedStateOfAnotherKeyIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a", "ab", "b")
		names := map[string]string{"a": "ab", "ab": "b", "b": "c"}
		h := run(t, server, clientgo.Options{}, withTransform(t, func(obj any) (any, error) {
			pod := obj.(*corev1.Pod)
			if pod.Labels["skip"] != "" {
				return nil, cache.ErrSkip
			}
			pod.Name = names[pod.Name]
			return pod, nil
		}))
		h.expectEvents("A ab@2 initial", "A b@3 initial", "A c@4 initial")
		server.relistAfter(func() {
			for name := range names {
				server.Update(cachetest.Pod(name, skipped))
			}
		})
		h.expectEvents()
		if keys := h.informer.GetStore().ListKeys(); len(keys) != 3 {
			t.Errorf("the store has the keys %q", keys)
		}
	})
}

// TestSkippedStateIsReplayed sends an event of a skipped state once more, to informers whose
// transform may rename objects. It does not end the watch, and calls the transform once.
func TestSkippedStateIsReplayed(t *testing.T) {
	for name, options := range map[string]clientgo.Options{"": {}, "filter": {Filter: func(any) bool { return true }}} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			server, calls := newServer("a"), 0
			h := run(t, server, options, withTransform(t, func(obj any) (any, error) {
				if calls++; obj.(*corev1.Pod).Labels["skip"] != "" {
					return nil, cache.ErrSkip
				}
				return obj, nil
			}))
			h.expectEvents("A a@2 initial")
			for range 2 {
				pod := server.Update(cachetest.Pod("a", skipped))
				synctest.Wait()
				requests := server.verbs()
				server.Send(watch.Event{Type: watch.Modified, Object: pod})
				cachetest.Advance(time.Second)
				if got := server.verbs(); got != requests {
					t.Errorf("requests %s after a replayed event, want %s", got, requests)
				}
			}
			h.expectEvents()
			if calls != 5 {
				t.Errorf("%d calls of the transform, want one for each state received", calls)
			}
		})
	}
}
