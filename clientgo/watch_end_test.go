// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestRunLeavesNoGoroutineOfAWatch stops informers of this package and of client-go whose watches
// close no channel when they are stopped. Run returns within a second, and leaves no goroutine, so
// that the bubble ends.
func TestRunLeavesNoGoroutineOfAWatch(t *testing.T) {
	for name, newInformer := range map[string]func(clientcache.ListerWatcher, runtime.Object, time.Duration, clientcache.Indexers) clientcache.SharedIndexInformer{
		"clientgo": plain.NewSharedIndexInformer, "client-go": clientcache.NewSharedIndexInformer,
	} {
		for stream, events := range map[string]func() <-chan watch.Event{
			"no channel": func() <-chan watch.Event { return nil },
			"idle":       func() <-chan watch.Event { return make(chan watch.Event) },
			"with an event": func() <-chan watch.Event {
				events := make(chan watch.Event, 1)
				events <- watch.Event{Type: watch.Added, Object: cachetest.Pod("a", cachetest.WithVersion("7"))}
				return events
			},
			"closed": func() <-chan watch.Event {
				events := make(chan watch.Event)
				close(events)
				return events
			},
			"with a bookmark": func() <-chan watch.Event {
				events := make(chan watch.Event, 1)
				events <- watch.Event{Type: watch.Bookmark, Object: cachetest.Pod("", cachetest.WithVersion("8"))}
				return events
			},
		} {
			cachetest.RunInBubble(t, name+", "+stream, func(t *testing.T) {
				lw := clientcache.ToListWatcherWithWatchListSemantics(&clientcache.ListWatch{
					ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
						return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}}, nil
					},
					WatchFunc: func(metav1.ListOptions) (watch.Interface, error) {
						results := events()
						return watch.MockWatcher{StopFunc: func() {}, ResultChanFunc: func() <-chan watch.Event { return results }}, nil
					},
				}, noWatchList{})
				informer := newInformer(lw, &corev1.Pod{}, 0, nil)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				began := time.Now()
				informer.RunWithContext(ctx)
				if took := time.Since(began) - 5*time.Second; took < 0 || took > time.Second {
					t.Errorf("Run returned %v after its context ended", took)
				}
				synctest.Wait()
			})
		}
	}
}
