// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestContinueOnPanic checks that a panic is reported with the handler's name, and that the handler
// receives the next event.
func TestContinueOnPanic(t *testing.T) {
	calls, failure := 0, errors.New("error on b")
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		errs := s.TakeErrors()
		var reported *cache.HandlerError
		if len(errs) != 1 || !errors.As(errs[0], &reported) || reported.Handler != "panicking" || reported.Key != "ns/b" || !errors.Is(errs[0], failure) ||
			errs[0].Error() != `handler "panicking" panicked on object "ns/b": error on b` {
			t.Errorf("reported %v", errs)
		}
		if status := s.SharedInformer.Status().Handlers[0]; calls != 3 || !status.Synced {
			t.Errorf("%d calls, %+v", calls, status)
		}
	}, func(s *sharedHarness) {
		s.add(cache.ResourceEventHandlerFuncs[*corev1.Pod]{AddFunc: func(p *corev1.Pod) {
			calls++
			if p.Name == "b" {
				panic(failure)
			}
		}}, cache.HandlerOptions{Name: "panicking", ContinueOnPanic: true})
	})
}

// TestCoalesceWhenBehind blocks a handler during 12,000 updates of a Pod. It receives coalesced
// updates, each from the state that was delivered last, and the addition and deletion of another
// Pod.
func TestCoalesceWhenBehind(t *testing.T) {
	const updates = 12_000
	var resume chan struct{}
	recorder := &eventRecorder{}
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		resume = make(chan struct{})
		s.add(cache.ResourceEventHandlerFuncs[*corev1.Pod]{UpdateFunc: func(*corev1.Pod, *corev1.Pod) { <-resume }}, cache.HandlerOptions{EveryEvent: true})
		first := true
		r := s.add(eventFunc(func(e cache.Event[*corev1.Pod]) {
			recorder.OnEvent(e)
			if first {
				first = false
				<-resume
			}
		}), cache.HandlerOptions{})
		synctest.Wait()
		s.Create(cachetest.Pod("d"))
		s.Delete("ns/d")
		for n := range updates {
			if s.Update(cachetest.Pod("a")); n%500 == 0 {
				synctest.Wait() // the fake server closes a watch that lags too far behind
			}
		}
		synctest.Wait()
		close(resume)
		synctest.Wait()
		if status := r.Status(); status.Coalesced == 0 || status.Backlog != 0 {
			t.Errorf("status %+v", status)
		}
		changes, last := 0, ""
		for _, e := range recorder.events[3:] {
			changes += 1 + e.Coalesced
			if e.Type == cache.EventUpdate {
				if last != "" && e.Old.ResourceVersion != last {
					t.Errorf("an update from %s, delivered last was %s", e.Old.ResourceVersion, last)
				}
				last = e.New.ResourceVersion
			}
		}
		if changes != updates+2 || last != s.ResourceVersion() {
			t.Errorf("received %d changes, the last at %s", changes, last)
		}
		if len(recorder.events) > 3+2+updates/4 {
			t.Errorf("%d events for %d updates", len(recorder.events), updates)
		}
	})
}

// TestLateHandlerReceivesInitialAdditions adds a handler while the informer runs. It receives
// additions of the stored objects and then every change, and the other handler receives no
// addition.
func TestLateHandlerReceivesInitialAdditions(t *testing.T) {
	early, late := &eventRecorder{}, &eventRecorder{}
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		s.expect(early, "Addi ns/a a@2, Addi ns/b b@3, Addi ns/c c@4")
		s.Update(cachetest.Pod("a"))
		s.Delete("ns/b")
		synctest.Wait()
		r := s.add(late, cache.HandlerOptions{})
		<-r.Synced()
		s.Create(cachetest.Pod("d"))
		s.Update(cachetest.Pod("a"))
		synctest.Wait()
		events := strings.SplitN(late.take(), ", ", 3)
		if first := sortWords(strings.Join(events[:2], ", ")); first != "Addi ns/a a@5, Addi ns/c c@4" || events[2] != "Add ns/d d@7, Update ns/a a@5 a@8" {
			t.Errorf("events %q", events)
		}
		s.expect(early, "Update ns/a a@2 a@5, Delete ns/b b@6, Add ns/d d@7, Update ns/a a@5 a@8")
	}, func(s *sharedHarness) { s.add(early, cache.HandlerOptions{}) })
}

// TestRegistrationSyncAndStop blocks a handler's first call. The registration is not synced, and
// Stop returns an error until the call has returned.
func TestRegistrationSyncAndStop(t *testing.T) {
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		resume := make(chan struct{})
		calls := 0
		r := s.add(cache.ResourceEventHandlerFuncs[*corev1.Pod]{AddFunc: func(*corev1.Pod) {
			calls++
			<-resume
		}}, cache.HandlerOptions{Name: "slow"})
		synctest.Wait()
		if r.HasSynced() || !s.HasSynced() || s.WaitForSync(s.T.Context()) != nil {
			t.Error("the handler is synced, or the informer is not")
		}
		s.Update(cachetest.Pod("a"))
		cachetest.Advance(3 * time.Second)
		if got := r.Status(); got.Name != "slow" || got.Synced || got.Backlog != 1 {
			t.Errorf("status %+v", got)
		}
		if got := s.SharedInformer.Status().Handlers; len(got) != 1 || got[0] != r.Status() {
			t.Errorf("the informer's handlers: %+v", got)
		}
		ctx, cancel := context.WithTimeout(s.T.Context(), time.Second)
		defer cancel()
		if err := r.Stop(ctx); !errors.Is(err, cache.ErrHandlerBlocked) || !errors.Is(err, context.DeadlineExceeded) || !cachetest.ErrorContains("slow")(err) {
			t.Errorf("Stop: %v", err)
		}
		close(resume)
		if err := r.Stop(s.T.Context()); err != nil || calls != 1 {
			t.Errorf("Stop: %v, after %d calls", err, calls)
		}
		<-r.Done()
		if len(s.SharedInformer.Status().Handlers) != 0 || r.HasSynced() {
			t.Error("a stopped handler is synced or still in Status")
		}
	})
}

// TestHandlerCancelsItself calls Cancel in the handler. That call is the last one.
func TestHandlerCancelsItself(t *testing.T) {
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		var r *cache.Registration
		calls, registered := 0, make(chan struct{})
		r = s.add(cache.ResourceEventHandlerFuncs[*corev1.Pod]{AddFunc: func(*corev1.Pod) {
			<-registered
			calls++
			r.Cancel()
		}}, cache.HandlerOptions{})
		close(registered)
		<-r.Done()
		s.Update(cachetest.Pod("a"))
		s.Create(cachetest.Pod("d"))
		synctest.Wait()
		if calls != 1 || r.HasSynced() || len(s.SharedInformer.Status().Handlers) != 0 {
			t.Errorf("%d calls, status %+v", calls, s.SharedInformer.Status().Handlers)
		}
	})
}

// TestHandlersBeforeRunAndAfterStop checks that a handler that is stopped before Run is never
// called, and that a handler cannot be added to a stopped informer.
func TestHandlersBeforeRunAndAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharedHarness(t, cache.InformerOptions[*corev1.Pod]{Name: "pods"})
		recorder := &eventRecorder{}
		r := s.add(recorder, cache.HandlerOptions{})
		if err := r.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		<-r.Done()
		s.start()
		s.expect(recorder, "")
		if err := s.SharedInformer.Run(t.Context()); !errors.Is(err, cache.ErrAlreadyRunning) || !cachetest.ErrorContains("pods")(err) {
			t.Errorf("Run during Run: %v", err)
		}
		if err := s.stopRun(); err != nil {
			t.Error(err)
		}
		if _, err := s.AddEventHandler(recorder, cache.HandlerOptions{Name: "late"}); !errors.Is(err, cache.ErrStopped) || !cachetest.ErrorContains("late")(err) || !cachetest.ErrorContains("pods")(err) {
			t.Errorf("AddEventHandler after stop: %v", err)
		}
		if err := s.SharedInformer.Run(t.Context()); !errors.Is(err, cache.ErrStopped) {
			t.Errorf("Run after stop: %v", err)
		}
		if err := r.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestKeyAndBatchHandlers checks that a key handler receives each waiting key once, and that a
// batch handler receives every event.
func TestKeyAndBatchHandlers(t *testing.T) {
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		var mu sync.Mutex
		var keys []string
		var sizes []int
		blocked, resume := false, make(chan struct{})
		if _, err := s.AddKeyHandler(func(event cache.KeyEvent) {
			mu.Lock()
			keys = append(keys, event.Key)
			mu.Unlock()
			if !blocked {
				blocked = true
				<-resume
			}
		}, cache.HandlerOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.AddBatchHandler(func(events []cache.Event[*corev1.Pod]) {
			sizes = append(sizes, len(events))
		}, cache.HandlerOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for range 100 {
			s.Update(cachetest.Pod("a"))
			s.Update(cachetest.Pod("b"))
		}
		s.Delete("ns/c")
		synctest.Wait()
		close(resume)
		synctest.Wait()
		slices.Sort(keys[:3])
		if got := strings.Join(keys, " "); got != "ns/a ns/b ns/c ns/a ns/b ns/c" {
			t.Errorf("keys %s", got)
		}
		total := 0
		for _, n := range sizes {
			total += n
		}
		if total != 204 || sizes[0] != 3 {
			t.Errorf("batches of the sizes %v", sizes)
		}
	})
}

// TestAddHandlerRejectsInvalidArguments checks the errors of invalid handlers and options, and
// those of the methods of an invalid informer.
func TestAddHandlerRejectsInvalidArguments(t *testing.T) {
	s := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
	accept := func(*corev1.Pod) bool { return true }
	for want, try := range map[string]func() (*cache.Registration, error){
		"handler is nil":  func() (*cache.Registration, error) { return s.AddEventHandler(nil, cache.HandlerOptions{}) },
		"handler is nil ": func() (*cache.Registration, error) { return s.AddKeyHandler(nil, cache.HandlerOptions{}) },
		" handler is nil": func() (*cache.Registration, error) { return s.AddBatchHandler(nil, cache.HandlerOptions{}) },
		"keys are always coalesced": func() (*cache.Registration, error) {
			return s.AddKeyHandler(func(cache.KeyEvent) {}, cache.HandlerOptions{EveryEvent: true})
		},
		"WithoutOld must not": func() (*cache.Registration, error) {
			return s.AddEventHandler(cache.FilteringResourceEventHandler[*corev1.Pod]{FilterFunc: accept, Handler: &eventRecorder{}}, cache.HandlerOptions{WithoutOld: true})
		},
	} {
		if _, err := try(); !cachetest.ErrorContains(strings.TrimSpace(want))(err) {
			t.Errorf("%s: %v", want, err)
		}
	}
	invalid := cache.NewSharedInformer(nil, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{ResyncPeriod: -1})
	_, err := invalid.AddKeyHandler(func(cache.KeyEvent) {}, cache.HandlerOptions{})
	for _, err := range []error{err, invalid.Run(t.Context()), invalid.WaitForSync(t.Context()), invalid.WaitForResourceVersion(t.Context(), "1"),
		invalid.WaitForObject(t.Context(), cachetest.Pod("a")), invalid.Status().Err, invalid.HealthCheck(cache.HealthOptions{})(nil)} {
		if !cachetest.ErrorContains("ListerWatcher is nil")(err) || !cachetest.ErrorContains("negative")(err) {
			t.Errorf("error of an invalid informer: %v", err)
		}
	}
}

// TestWithoutOldLeavesOldNil checks updates, also those of a resync, and deletions, also those of a
// relist.
func TestWithoutOldLeavesOldNil(t *testing.T) {
	recorder := &eventRecorder{}
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		recorder.take()
		s.Update(cachetest.Pod("a"))
		s.Delete("ns/a")
		s.expect(recorder, "Update ns/a a@5, Delete ns/a a@6")
		s.Expire()
		s.Delete("ns/b")
		cachetest.Advance(2 * time.Second)
		s.expect(recorder, "Delete ns/b b@3")
		cachetest.Advance(time.Hour)
		s.expect(recorder, "Update ns/c c@4")
	}, func(s *sharedHarness) {
		s.add(recorder, cache.HandlerOptions{WithoutOld: true, ResyncPeriod: 50 * time.Minute})
	})
}

// TestDeletionHasOldAndFinalState checks the deletions of an event, of a relist and of a
// FilterFunc, for handlers that read the old state and for those that do not.
func TestDeletionHasOldAndFinalState(t *testing.T) {
	for _, packed := range []bool{false, true} {
		for _, withoutOld := range []bool{false, true} {
			deleted, filtered := &eventRecorder{}, &eventRecorder{}
			accept := func(pod *corev1.Pod) bool { return pod.Labels["x"] == "" }
			runShared(t, cache.InformerOptions[*corev1.Pod]{Packed: packed}, func(s *sharedHarness) {
				old := func(text string) string {
					if withoutOld {
						return "nil"
					}
					return text
				}
				s.Update(cachetest.Pod("a", cachetest.WithLabel("x", "1")))
				cachetest.Advance(0)
				if got := filtered.deletion(); got != "a@2 a@5 known left" {
					t.Errorf("refused by FilterFunc: %s", got)
				}
				s.Delete("ns/a")
				cachetest.Advance(0)
				if got, want := deleted.deletion(), old("a@5")+" a@6 known"; got != want {
					t.Errorf("deletion event: %s, want %s", got, want)
				}
				s.Expire()
				s.Delete("ns/b")
				cachetest.Advance(2 * time.Second)
				if got, want := deleted.deletion(), old("b@3")+" b@3 unknown"; got != want {
					t.Errorf("deletion found by a relist: %s, want %s", got, want)
				}
			}, func(s *sharedHarness) {
				s.add(deleted, cache.HandlerOptions{WithoutOld: withoutOld})
				s.add(cache.FilteringResourceEventHandler[*corev1.Pod]{FilterFunc: accept, Handler: filtered}, cache.HandlerOptions{})
			})
		}
	}
}

// deletion describes the last deletion since the last call.
func (n *eventRecorder) deletion() (text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.events {
		if e.Type != cache.EventDelete {
			continue
		}
		text = "nil"
		if e.Old != nil {
			text = cachetest.NameAtVersion(e.Old)
		}
		text += " " + cachetest.NameAtVersion(e.Final) + map[bool]string{false: " known", true: " unknown"}[e.FinalStateUnknown]
		if e.LeftScope {
			text += " left"
		}
	}
	n.events = nil
	return text
}

// TestResyncPeriodOfHandler checks a handler's own period, the informer's, and none.
func TestResyncPeriodOfHandler(t *testing.T) {
	own, inherited, none := &eventRecorder{}, &eventRecorder{}, &eventRecorder{}
	runShared(t, cache.InformerOptions[*corev1.Pod]{ResyncPeriod: 30 * time.Second}, func(s *sharedHarness) {
		cachetest.Advance(61 * time.Second)
		for n, want := range map[*eventRecorder]int{own: 18, inherited: 6, none: 0} {
			if got := strings.Count(n.take(), "Update"); got != want {
				t.Errorf("%d updates, want %d", got, want)
			}
		}
	}, func(s *sharedHarness) {
		s.add(own, cache.HandlerOptions{ResyncPeriod: 10 * time.Second})
		s.add(inherited, cache.HandlerOptions{})
		s.add(none, cache.HandlerOptions{ResyncPeriod: -1})
	})
}
