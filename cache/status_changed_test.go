// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// statusWaiter reads the status of an informer at each change, in a goroutine.
type statusWaiter struct {
	*testing.T
	read func() string
	last atomic.Pointer[string]
}

func waitForChanges(t *testing.T, informer interface {
	Status() cache.Status
	StatusChanged() <-chan struct{}
}) *statusWaiter {
	w := &statusWaiter{T: t, read: func() string {
		status := informer.Status()
		text := fmt.Sprintf("%s, synced: %t, failed: %t", status.Phase, status.Synced, status.Err != nil)
		for _, handler := range status.Handlers {
			text += fmt.Sprintf(", handler synced: %t, behind: %t", handler.Synced, handler.Backlog > 0)
		}
		return text
	}}
	go func() {
		for {
			changed := informer.StatusChanged()
			text := w.read()
			w.last.Store(&text)
			select {
			case <-changed:
			case <-t.Context().Done():
				return
			}
		}
	}()
	return w
}

// expect checks the status, and that the goroutine has read it. No time passes.
func (w *statusWaiter) expect(step, want string) {
	w.Helper()
	synctest.Wait()
	if now, last := w.read(), *w.last.Load(); now != want || last != want {
		w.Errorf("%s: %q, last read as %q, want %q", step, now, last, want)
	}
}

// TestStatusChangedWakesAtEachChange blocks a handler, and makes requests fail.
func TestStatusChangedWakesAtEachChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharedHarness(t, cache.InformerOptions[*corev1.Pod]{})
		resume := make(chan struct{})
		s.add(cache.EventHandlerFunc[*corev1.Pod](func(cache.Event[*corev1.Pod]) { <-resume }), cache.HandlerOptions{})
		w := waitForChanges(t, s)
		w.expect("before Run", "Idle, synced: false, failed: false, handler synced: false, behind: false")
		s.InjectListFault(1, fake.Fault{Err: fake.Forbidden()})
		s.start()
		w.expect("a failed list", "Retrying, synced: false, failed: true, handler synced: false, behind: false")
		cachetest.Advance(2 * time.Second)
		w.expect("a list", "Watching, synced: true, failed: false, handler synced: false, behind: true")
		for range 3 {
			resume <- struct{}{}
		}
		w.expect("its delivery", "Watching, synced: true, failed: false, handler synced: true, behind: false")
		s.Update(cachetest.Pod("a"))
		s.InjectWatchFault(1, fake.Fault{Err: fake.Forbidden()})
		s.CloseWatches()
		cachetest.Advance(time.Second)
		w.expect("a failed watch", "Retrying, synced: true, failed: true, handler synced: true, behind: true")
		resume <- struct{}{}
		w.expect("the end of a call", "Retrying, synced: true, failed: true, handler synced: true, behind: false")
		cachetest.Advance(time.Minute)
		w.expect("a watch", "Watching, synced: true, failed: false, handler synced: true, behind: false")
		late := s.add(cache.EventHandlerFunc[*corev1.Pod](func(cache.Event[*corev1.Pod]) { <-resume }), cache.HandlerOptions{})
		for range 3 {
			resume <- struct{}{}
		}
		w.expect("a handler that was added later", "Watching, synced: true, failed: false"+strings.Repeat(", handler synced: true, behind: false", 2))
		late.Cancel()
		s.Update(cachetest.Pod("b"))
		synctest.Wait()
		s.endWhile(resume, func() {
			w.expect("the end of the context", "Stopped, synced: true, failed: false, handler synced: true, behind: true")
		})
		w.expect("the end of Run", "Stopped, synced: true, failed: false, handler synced: true, behind: false")
	})
}

// endWhile ends the informer's context, and calls a function before the handler returns.
func (s *sharedHarness) endWhile(resume chan struct{}, check func()) {
	stopped := make(chan error, 1)
	go func() { stopped <- s.stopRun() }()
	check()
	close(resume)
	if err := <-stopped; err != nil {
		s.T.Error(err)
	}
}

// TestStatusChangedBeforeAWatchIsOpen lists from functions that may be those of a fake, whose watch
// does not begin: the informer syncs after a second.
func TestStatusChangedBeforeAWatchIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := cache.NewSharedInformer(&cache.ListWatch{
			ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
			},
			WatchFunc: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		}, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
		w := waitForChanges(t, pods)
		start(t, pods)
		w.expect("the list", "Listing, synced: false, failed: false")
		cachetest.Advance(2 * time.Second)
		w.expect("a second", "Listing, synced: true, failed: false")
	})
}

// TestStatusChangedOfAResourceThatGoes lets a resource go and return.
func TestStatusChangedOfAResourceThatGoes(t *testing.T) {
	runServed(t, cache.InformerOptions[*unstructured.Unstructured]{}, func(h *servedHarness) {
		w := waitForChanges(h.T, h)
		w.expect("no verdict", "NotServed, synced: false, failed: true, handler synced: false, behind: false")
		h.do("create")
		h.do("served")
		w.expect("served", "Watching, synced: true, failed: false, handler synced: true, behind: false")
		h.do("delete")
		h.do("gone")
		w.expect("gone", "NotServed, synced: false, failed: true, handler synced: true, behind: false")
		h.do("create")
		h.do("served")
		w.expect("served again", "Watching, synced: true, failed: false, handler synced: true, behind: false")
	})
}

// TestStatusChangedOfScopes adds scopes, of which the list of one fails, and removes them.
func TestStatusChangedOfScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scopes := cache.NewScopes()
		s := newSharedHarness(t, cache.InformerOptions[*corev1.Pod]{Scopes: scopes})
		s.start()
		w := waitForChanges(s.T, s)
		w.expect("no scopes", "Watching, synced: true, failed: false")
		s.InjectListFault(1, fake.Fault{Delay: time.Second})
		if err := scopes.Add(cache.Scope{Namespace: "ns"}); err != nil {
			t.Fatal(err)
		}
		w.expect("a scope that is being listed", "Listing, synced: false, failed: false")
		cachetest.Advance(2 * time.Second)
		w.expect("a scope", "Watching, synced: true, failed: false")
		s.InjectListFault(1, fake.Fault{Err: fake.Forbidden()})
		if err := scopes.Add(cache.Scope{Namespace: "other"}); err != nil {
			t.Fatal(err)
		}
		w.expect("a scope that is refused", "Retrying, synced: true, failed: true")
		if err := scopes.Remove(cache.Scope{Namespace: "other"}); err != nil {
			t.Fatal(err)
		}
		w.expect("its removal", "Watching, synced: true, failed: false")
		resume := make(chan struct{})
		s.add(cache.EventHandlerFunc[*corev1.Pod](func(cache.Event[*corev1.Pod]) { <-resume }), cache.HandlerOptions{})
		s.endWhile(resume, func() {
			w.expect("the end of the context", "Stopped, synced: true, failed: false, handler synced: false, behind: false")
		})
	})
}
