// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// stateRecorder is a handler that remembers the states of the last event, but does not keep them
// alive.
type stateRecorder struct{ old, new weak.Pointer[corev1.Pod] }

func (r *stateRecorder) OnEvent(event cache.Event[*corev1.Pod]) {
	r.old, r.new = weak.Make(event.Old), weak.Make(event.New)
}

// expectHotObjects checks the numbers in the status.
func (s *sharedHarness) expectHotObjects(want int, when string) {
	s.T.Helper()
	synctest.Wait()
	status := s.Status()
	if status.HotObjects != want || (status.HotBytes > 0) != (want > 0) || status.PackedBytes <= 0 {
		s.T.Errorf("%s: %d objects of %d bytes are kept, want %d; %d packed bytes",
			when, status.HotObjects, status.HotBytes, want, status.PackedBytes)
	}
}

// TestHotObjects checks that a packed informer keeps the objects of events and of GetByKey decoded,
// until their next update is delivered, and no others.
func TestHotObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := &stateRecorder{}
		s := newSharedHarness(t, cache.InformerOptions[*corev1.Pod]{Packed: true})
		s.add(recorder, cache.HandlerOptions{ResyncPeriod: time.Minute})
		s.start()
		s.expectHotObjects(0, "initial list")
		s.SharedInformer.Store().List()
		s.SharedInformer.Store().Snapshot().GetByKey("ns/b")
		cachetest.Advance(time.Minute)
		s.add(&stateRecorder{}, cache.HandlerOptions{})
		s.expectHotObjects(0, "list, resync and a late handler")

		s.Update(cachetest.Pod("a"))
		synctest.Wait()
		for range 3 {
			runtime.GC()
			s.expectHotObjects(1, "update")
			delivered := recorder.new
			if pod, _ := s.SharedInformer.Store().GetByKey("ns/a"); pod == nil || delivered.Value() != pod {
				t.Errorf("GetByKey decodes the object of the last event again")
			}
			s.Update(cachetest.Pod("a"))
			synctest.Wait()
			if recorder.old != delivered {
				t.Error("an update decodes its old state again")
			}
		}
		s.SharedInformer.Store().GetByKey("ns/b")
		s.Delete("ns/a")
		synctest.Wait()
		runtime.GC()
		runtime.GC()
		s.expectHotObjects(1, "GetByKey and a deletion")
		if err := s.stopRun(); err != nil {
			t.Error(err)
		}
		s.expectHotObjects(0, "end of Run")
	})
}

// TestNegativeHotBytesKeepNoObject checks that no object is kept after its event.
func TestNegativeHotBytesKeepNoObject(t *testing.T) {
	recorder := &stateRecorder{}
	runShared(t, cache.InformerOptions[*corev1.Pod]{Packed: true, HotBytes: -1}, func(s *sharedHarness) {
		s.Update(cachetest.Pod("a"))
		s.expectHotObjects(0, "update")
		runtime.GC()
		if recorder.new.Value() != nil {
			t.Error("the object of the last event is kept")
		}
	}, func(s *sharedHarness) { s.add(recorder, cache.HandlerOptions{}) })
}
