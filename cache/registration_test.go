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
	"github.com/kinformer/kinformer/internal/cachetest"
)

// A panic is reported with the handler's name; told to go on, the handler does.
func TestContinueOnPanic(t *testing.T) {
	calls, failure := 0, errors.New("no b, please")
	shared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedRig) {
		errs := s.TakeErrors()
		var reported *cache.HandlerError
		if len(errs) != 1 || !errors.As(errs[0], &reported) || reported.Handler != "picky" || reported.Key != "ns/b" || !errors.Is(errs[0], failure) {
			t.Errorf("reported %v", errs)
		}
		if status := s.SharedInformer.Status().Handlers[0]; calls != 3 || !status.Synced {
			t.Errorf("%d calls, %+v", calls, status)
		}
	}, func(s *sharedRig) {
		s.add(cache.ResourceEventHandlerFuncs[*corev1.Pod]{AddFunc: func(p *corev1.Pod) {
			calls++
			if p.Name == "b" {
				panic(failure)
			}
		}}, cache.HandlerOptions{Name: "picky", ContinueOnPanic: true})
	})
}

// A handler that has been stuck is told of updates as one, from the state it knows to the
// last, and of what came and went.
func TestMergeWhenBehind(t *testing.T) {
	const updates = 12_000
	var resume chan struct{}
	notes := &eventNotes{}
	shared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedRig) {
		resume = make(chan struct{})
		s.add(cache.ResourceEventHandlerFuncs[*corev1.Pod]{UpdateFunc: func(*corev1.Pod, *corev1.Pod) { <-resume }}, cache.HandlerOptions{Delivery: cache.EveryEvent})
		first := true
		r := s.add(onEvents(func(e cache.Event[*corev1.Pod]) {
			notes.OnEvent(e)
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
				synctest.Wait() // a watch that is too far behind is ended
			}
		}
		synctest.Wait()
		close(resume)
		synctest.Wait()
		if status := r.Status(); status.Coalesced == 0 || status.Backlog != 0 {
			t.Errorf("status %+v", status)
		}
		merged, last := 0, ""
		for _, e := range notes.events[3:] {
			merged += 1 + e.Coalesced
			if e.Type == cache.EventUpdate {
				if last != "" && e.Old.ResourceVersion != last {
					t.Errorf("an update from %s, told last was %s", e.Old.ResourceVersion, last)
				}
				last = e.New.ResourceVersion
			}
		}
		if merged != updates+2 || last != s.ResourceVersion() {
			t.Errorf("told of %d events, the last at %s", merged, last)
		}
		if len(notes.events) > 3+2+updates/4 {
			t.Errorf("%d events for %d updates", len(notes.events), updates)
		}
	})
}

// A handler that comes late is told what is there, then what changes, and nobody else is
// told anything of it.
func TestLateHandler(t *testing.T) {
	early, late := &eventNotes{}, &eventNotes{}
	shared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedRig) {
		s.expect(early, "Addi ns/a a@2, Addi ns/b b@3, Addi ns/c c@4")
		s.Update(cachetest.Pod("a"))
		s.Delete("ns/b")
		synctest.Wait()
		r := s.add(late, cache.HandlerOptions{})
		<-r.Synced()
		s.Create(cachetest.Pod("d"))
		s.Update(cachetest.Pod("a"))
		synctest.Wait()
		told := strings.SplitN(late.take(), ", ", 3)
		if first := sortedWords(strings.Join(told[:2], ", ")); first != "Addi ns/a a@5, Addi ns/c c@4" || told[2] != "Add ns/d d@7, Update ns/a a@5 a@8" {
			t.Errorf("told %q", told)
		}
		s.expect(early, "Update ns/a a@2 a@5, Delete ns/b b@6, Add ns/d d@7, Update ns/a a@5 a@8")
	}, func(s *sharedRig) { s.add(early, cache.HandlerOptions{}) })
}

// The states of a registration: not synced before its first calls have returned, done when
// there are none any more.
func TestRegistration(t *testing.T) {
	shared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedRig) {
		resume := make(chan struct{})
		calls := 0
		r := s.add(cache.ResourceEventHandlerFuncs[*corev1.Pod]{AddFunc: func(*corev1.Pod) {
			calls++
			<-resume
		}}, cache.HandlerOptions{Name: "slow"})
		synctest.Wait()
		if r.HasSynced() || !s.HasSynced() || s.WaitForSync(s.T.Context()) != nil {
			t.Error("a handler's sync is not the informer's")
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
			t.Error("a handler that was stopped is still there")
		}
	})
}

// A handler may cancel itself: that call is the last.
func TestHandlerStopsItself(t *testing.T) {
	shared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedRig) {
		var r *cache.Registration
		calls, registered := 0, make(chan struct{})
		r = s.add(cache.ResourceEventHandlerFuncs[*corev1.Pod]{AddFunc: func(*corev1.Pod) {
			<-registered
			calls++
			r.Cancel()
		}}, cache.HandlerOptions{})
		close(registered)
		<-r.Done()
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
	})
}

// Stopped before Run, a handler is never called; an informer that has stopped takes none.
func TestHandlersAtTheEndsOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharedRig(t, cache.InformerOptions[*corev1.Pod]{Name: "pods"})
		notes := &eventNotes{}
		r := s.add(notes, cache.HandlerOptions{})
		if err := r.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		<-r.Done()
		s.start()
		s.expect(notes, "")
		if err := s.SharedInformer.Run(t.Context()); !errors.Is(err, cache.ErrAlreadyRunning) || !cachetest.ErrorContains("pods")(err) {
			t.Errorf("Run beside Run: %v", err)
		}
		if err := s.stopRun(); err != nil {
			t.Error(err)
		}
		if _, err := s.AddEventHandler(notes, cache.HandlerOptions{Name: "late"}); !errors.Is(err, cache.ErrStopped) || !cachetest.ErrorContains("late")(err) || !cachetest.ErrorContains("pods")(err) {
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

// Handlers of keys hear of each key that waits once; handlers of batches get what there is.
func TestKeyAndBatchHandlers(t *testing.T) {
	shared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedRig) {
		var mu sync.Mutex
		var keys []string
		var sizes []int
		blocked, resume := false, make(chan struct{})
		if _, err := s.AddKeyHandler(func(key string) {
			mu.Lock()
			keys = append(keys, key)
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
			t.Errorf("batches of %v", sizes)
		}
	})
}

// What the arguments of handlers and informers may not be.
func TestWhatAddHandlerRefuses(t *testing.T) {
	s := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
	accept := func(*corev1.Pod) bool { return true }
	for want, try := range map[string]func() (*cache.Registration, error){
		"handler is nil":  func() (*cache.Registration, error) { return s.AddEventHandler(nil, cache.HandlerOptions{}) },
		"handler is nil ": func() (*cache.Registration, error) { return s.AddKeyHandler(nil, cache.HandlerOptions{}) },
		" handler is nil": func() (*cache.Registration, error) { return s.AddBatchHandler(nil, cache.HandlerOptions{}) },
		"unknown Delivery \"Some\"": func() (*cache.Registration, error) {
			return s.AddEventHandler(&eventNotes{}, cache.HandlerOptions{Delivery: "Some"})
		},
		"keys are always coalesced": func() (*cache.Registration, error) {
			return s.AddKeyHandler(func(string) {}, cache.HandlerOptions{Delivery: cache.EveryEvent})
		},
		"WithoutOld must not": func() (*cache.Registration, error) {
			return s.AddEventHandler(cache.FilteringResourceEventHandler[*corev1.Pod]{FilterFunc: accept, Handler: &eventNotes{}}, cache.HandlerOptions{WithoutOld: true})
		},
	} {
		if _, err := try(); !cachetest.ErrorContains(strings.TrimSpace(want))(err) {
			t.Errorf("%s: %v", want, err)
		}
	}
	invalid := cache.NewSharedInformer(nil, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{ResyncPeriod: -1})
	_, err := invalid.AddKeyHandler(func(string) {}, cache.HandlerOptions{})
	for _, err := range []error{err, invalid.Run(t.Context()), invalid.WaitForSync(t.Context()), invalid.WaitForResourceVersion(t.Context(), "1"),
		invalid.WaitForObject(t.Context(), cachetest.Pod("a")), invalid.Status().Err, invalid.HealthCheck(0)(nil)} {
		if !cachetest.ErrorContains("ListerWatcher is nil")(err) || !cachetest.ErrorContains("negative")(err) {
			t.Errorf("of an invalid informer: %v", err)
		}
	}
}

// Without the old state an update shows only the new one; a deletion shows the last.
func TestWithoutOld(t *testing.T) {
	notes := &eventNotes{}
	shared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedRig) {
		notes.take()
		s.Update(cachetest.Pod("a"))
		s.Delete("ns/a")
		s.expect(notes, "Update ns/a a@5, Delete ns/a a@6")
		s.Send(fake.ErrorEvent(fake.Expired()))
		s.Delete("ns/b")
		cachetest.Advance(2 * time.Second)
		s.expect(notes, "Delete ns/b b@3")
	}, func(s *sharedRig) { s.add(notes, cache.HandlerOptions{WithoutOld: true}) })
}

// A handler's resync is its own, or else the informer's, or none.
func TestResyncOfHandlers(t *testing.T) {
	own, shares, none := &eventNotes{}, &eventNotes{}, &eventNotes{}
	shared(t, cache.InformerOptions[*corev1.Pod]{ResyncPeriod: 30 * time.Second}, func(s *sharedRig) {
		cachetest.Advance(61 * time.Second)
		for n, want := range map[*eventNotes]int{own: 18, shares: 6, none: 0} {
			if got := strings.Count(n.take(), "Update"); got != want {
				t.Errorf("%d updates, want %d", got, want)
			}
		}
	}, func(s *sharedRig) {
		s.add(own, cache.HandlerOptions{ResyncPeriod: 10 * time.Second})
		s.add(shares, cache.HandlerOptions{})
		s.add(none, cache.HandlerOptions{ResyncPeriod: -1})
	})
}
