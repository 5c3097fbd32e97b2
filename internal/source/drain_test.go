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

// TestLastStreamIsReadBeforeWatchReturns ends the context of open watches. Watch has read a blocked
// producer's events when it returns: once the stream is closed, after half a second, or, if the
// producer knows that it was stopped, at once. It leaves no goroutine: the bubble ends.
func TestLastStreamIsReadBeforeWatchReturns(t *testing.T) {
	event := watch.Event{Type: watch.Added, Object: cachetest.Pod("a", cachetest.WithVersion("1"))}
	mock := func(stop func(), events <-chan watch.Event) watch.Interface {
		return watch.MockWatcher{StopFunc: stop, ResultChanFunc: func() <-chan watch.Event { return events }}
	}
	idle := func() {}
	for name, test := range map[string]struct {
		open func(stopped chan struct{}) watch.Interface
		want time.Duration
	}{
		"closed by Stop": {func(chan struct{}) watch.Interface { return watch.NewFake() }, 0},
		"closed during Stop": {func(chan struct{}) watch.Interface {
			events := make(chan watch.Event)
			return mock(func() { close(events) }, events)
		}, 0},
		"closed after Stop": {func(chan struct{}) watch.Interface {
			events := make(chan watch.Event)
			return mock(func() { time.AfterFunc(300*time.Millisecond, func() { close(events) }) }, events)
		}, 300 * time.Millisecond},
		"never closed": {func(chan struct{}) watch.Interface { return mock(idle, make(chan watch.Event)) }, lastTimeout},
		"no channel":   {func(chan struct{}) watch.Interface { return mock(idle, nil) }, lastTimeout},
		"buffered": {func(chan struct{}) watch.Interface {
			events := make(chan watch.Event, 10)
			return mock(func() { events <- event }, events)
		}, lastTimeout},
		"blocked producer": {func(stopped chan struct{}) watch.Interface {
			events := make(chan watch.Event)
			go func() {
				<-stopped
				events <- event
				events <- event
			}()
			return mock(func() { close(stopped) }, events)
		}, lastTimeout},
		"producer that closes": {func(stopped chan struct{}) watch.Interface {
			events := make(chan watch.Event)
			go func() {
				defer close(events)
				<-stopped
				events <- event
				<-time.After(100 * time.Millisecond)
				events <- event
			}()
			return mock(func() { close(stopped) }, events)
		}, 100 * time.Millisecond},
		"steady producer": {func(stopped chan struct{}) watch.Interface {
			events := make(chan watch.Event)
			go func() {
				<-stopped
				for range 5 {
					<-time.After(90 * time.Millisecond)
					events <- event
				}
			}()
			return mock(func() { close(stopped) }, events)
		}, lastTimeout},
		"StopChan": {func(chan struct{}) watch.Interface { return watch.NewProxyWatcher(make(chan watch.Event)) }, 0},
	} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			collection := pods(func() watch.Interface { return test.open(make(chan struct{})) })
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			before, began := len(cachetest.BubbleGoroutines()), time.Now()
			if err := collection.Watch(ctx, metav1.ListOptions{}, refusing{nil}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
			if took := time.Since(began) - time.Minute; took != test.want {
				t.Errorf("Watch returned %v after its context ended, want %v", took, test.want)
			}
			if after := len(cachetest.BubbleGoroutines()); after != before {
				t.Errorf("%d goroutines before, %d after", before, after)
			}
		})
	}
}

// lastTimeout is how long Watch may read after its context has ended.
const lastTimeout = 500 * time.Millisecond
