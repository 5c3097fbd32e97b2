// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/source"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// pods returns a source of Pods whose watches are opened by a function.
func pods(open func() watch.Interface) source.Source {
	lw := &cache.ListWatch{WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return open(), nil }}
	return newSource(lw, codec.ObjectType{GoType: reflect.TypeFor[*corev1.Pod]()})
}

// TestReconnectsLeaveNoGoroutine opens and ends 10,000 watches whose streams close their channel
// when they are stopped, never close it, or have none.
func TestReconnectsLeaveNoGoroutine(t *testing.T) {
	event := watch.Event{Type: watch.Added, Object: cachetest.Pod("a", cachetest.WithVersion("1"))}
	for name, open := range map[string]func() watch.Interface{
		"closed by Stop": func() watch.Interface {
			w := watch.NewFakeWithChanSize(2, false)
			w.Action(event.Type, event.Object)
			w.Action(event.Type, event.Object)
			return w
		},
		"never closed": func() watch.Interface {
			events := make(chan watch.Event, 2)
			events <- event
			events <- event
			return watch.NewProxyWatcher(events)
		},
		"idle":       func() watch.Interface { return watch.NewProxyWatcher(make(chan watch.Event)) },
		"no channel": func() watch.Interface { return watch.NewProxyWatcher(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				collection, before := pods(open), runtime.NumGoroutine()
				for range 10_000 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
					err := collection.Watch(ctx, metav1.ListOptions{}, refusing{errEnough})
					if !errors.Is(err, errEnough) && !errors.Is(err, context.DeadlineExceeded) {
						t.Fatal(err)
					}
					cancel()
				}
				<-time.After(5 * time.Second)
				synctest.Wait()
				if after := runtime.NumGoroutine(); after > before+1000 { // goroutines that are ending are in the count
					t.Errorf("%d goroutines before, %d after", before, after)
				}
			})
		})
	}
}

// TestStoppedProducerIsNotBlocked stops a watch whose producer sends further events, a while after
// each other, and closes the channel only then.
func TestStoppedProducerIsNotBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan watch.Event)
		collection := pods(func() watch.Interface { return watch.NewProxyWatcher(events) })
		finished := make(chan struct{})
		go func() {
			defer close(finished)
			defer close(events)
			for range 10 {
				events <- watch.Event{Type: watch.Added, Object: cachetest.Pod("a", cachetest.WithVersion("1"))}
				<-time.After(500 * time.Millisecond)
			}
		}()
		if err := collection.Watch(t.Context(), metav1.ListOptions{}, refusing{errEnough}); !errors.Is(err, errEnough) {
			t.Errorf("error %v", err)
		}
		select {
		case <-finished:
		case <-time.After(time.Minute):
			t.Error("the producer is blocked")
		}
	})
}
