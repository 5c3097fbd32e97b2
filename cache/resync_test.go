// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestResyncUpdatesStoredObjects checks that a resync delivers one update of each stored object per
// period, and makes no request.
func TestResyncUpdatesStoredObjects(t *testing.T) {
	recorder := &eventRecorder{}
	options := cache.InformerOptions[*corev1.Pod]{ResyncPeriod: time.Minute, StartAny: true}
	runShared(t, options, func(s *sharedHarness) {
		recorder.take()
		for range 5 {
			cachetest.Advance(time.Minute)
			s.expect(recorder, "Update ns/a a@2 a@2, Update ns/b b@3 b@3, Update ns/c c@4 c@4")
		}
		cachetest.Advance(30 * time.Second)
		s.Delete("ns/a")
		s.Update(cachetest.Pod("b"))
		s.expect(recorder, "Delete ns/a a@5, Update ns/b b@3 b@6")
		cachetest.Advance(30 * time.Second)
		s.expect(recorder, "Update ns/b b@6 b@6, Update ns/c c@4 c@4")
		if lists := s.Status().Requests.Lists; lists != 1 {
			t.Errorf("%d lists, want 1", lists)
		}
	}, func(s *sharedHarness) { s.add(recorder, cache.HandlerOptions{}) })
}

// TestResyncOldAndNewAreSame checks that Old and New are the stored object.
func TestResyncOldAndNewAreSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		updates := 0
		r.Handler, r.ResyncPeriod = podFuncs{UpdateFunc: func(old, p *corev1.Pod) {
			updates++
			stored, _ := r.Store.GetByKey("ns/" + p.Name)
			if old != p || p != stored {
				t.Errorf("update of %s: old %p, new %p, stored %p", p.Name, old, p, stored)
			}
		}}, time.Second
		r.Run(cache.ReflectorOptions{})
		cachetest.Advance(10 * time.Second)
		if updates != 30 {
			t.Errorf("%d updates in ten periods", updates)
		}
		r.CheckStop()
	})
}

// TestChangesDuringResyncFollowIt changes Pods while a handler receives a resync. The changes
// follow the resync, Old is the state that was delivered last, and the next resync omits deleted
// Pods.
func TestChangesDuringResyncFollowIt(t *testing.T) {
	recorder := &eventRecorder{}
	var inResync, resume chan struct{}
	calls := 0
	runShared(t, cache.InformerOptions[*corev1.Pod]{ResyncPeriod: time.Minute}, func(r *sharedHarness) {
		<-inResync // Pod a has been delivered
		r.Update(cachetest.Pod("a"))
		r.Delete("ns/b")
		r.Create(cachetest.Pod("d"))
		synctest.Wait()
		close(resume)
		cachetest.Advance(time.Minute - time.Nanosecond)
		r.expect(recorder, "Addi ns/a a@2, Addi ns/b b@3, Addi ns/c c@4, "+
			"Update ns/a a@2 a@2, Update ns/b b@3 b@3, Update ns/c c@4 c@4, "+
			"Update ns/a a@2 a@5, Delete ns/b b@6, Add ns/d d@7")
		cachetest.Advance(time.Second)
		r.expect(recorder, "Update ns/a a@5 a@5, Update ns/c c@4 c@4, Update ns/d d@7 d@7")
	}, func(r *sharedHarness) {
		inResync, resume = make(chan struct{}), make(chan struct{})
		r.add(eventFunc(func(e cache.Event[*corev1.Pod]) {
			recorder.OnEvent(e)
			if calls++; calls == 4 {
				close(inResync)
				<-resume
			}
		}), cache.HandlerOptions{})
	})
}

// TestSlowHandlerReceivesChangesBeforeResync checks that a handler with a backlog receives every
// change in order.
func TestSlowHandlerReceivesChangesBeforeResync(t *testing.T) {
	delivered := make(map[string]string) // versions by name
	var slow atomic.Bool                 // read by the handler, which a timer's goroutine may call
	slow.Store(true)
	record := func(old, p *corev1.Pod) {
		if old != nil && delivered[p.Name] != old.ResourceVersion {
			t.Errorf("update of %s from %s, delivered was %s", p.Name, old.ResourceVersion, delivered[p.Name])
		}
		delivered[p.Name] = p.ResourceVersion
		if slow.Load() {
			<-time.After(7 * time.Second)
		}
	}
	runWithHandler(t, 5*time.Second, podFuncs{
		AddFunc:    func(p *corev1.Pod) { record(nil, p) },
		UpdateFunc: record,
		DeleteFunc: func(p *corev1.Pod) {
			if delivered[p.Name] == "" {
				t.Errorf("deletion of %s, which was not added", p.Name)
			}
			delete(delivered, p.Name)
		},
	}, func(r *cachetest.Harness) {
		for range 50 {
			r.Update(cachetest.Pod("a"))
			r.Delete("ns/b")
			r.Create(cachetest.Pod("b"))
			cachetest.Advance(time.Second)
		}
		slow.Store(false)
		cachetest.Advance(time.Minute)
		for _, p := range r.Store.List() {
			if delivered[p.Name] != p.ResourceVersion {
				t.Errorf("delivered %s@%s, stored %s", p.Name, delivered[p.Name], cachetest.NameAtVersion(p))
			}
		}
		if len(delivered) != r.Store.Len() {
			t.Errorf("delivered %d objects, stored %d", len(delivered), r.Store.Len())
		}
	})
}
