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
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// sharedRig is a SharedInformer of three Pods on a fake server, in a bubble.
type sharedRig struct {
	*cachetest.Harness
	*cache.SharedInformer[*corev1.Pod]
	stopRun func() error
}

// shared runs a test with a running SharedInformer of Pods a, b and c in namespace ns, at
// the versions 2, 3 and 4. before is called before it runs.
func shared(t *testing.T, options cache.InformerOptions[*corev1.Pod], test func(s *sharedRig), before ...func(s *sharedRig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSharedRig(t, options)
		for _, prepare := range before {
			prepare(s)
		}
		s.start()
		test(s)
		if err := s.stopRun(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func newSharedRig(t *testing.T, options cache.InformerOptions[*corev1.Pod]) *sharedRig {
	t.Helper()
	s := &sharedRig{Harness: cachetest.New(t)}
	if options.ErrorHandler == nil {
		options.ErrorHandler = s.Report
	}
	s.SharedInformer = cache.NewSharedInformer(s.Harness, &corev1.Pod{}, options)
	return s
}

func (s *sharedRig) start() {
	ctx, cancel := context.WithCancel(s.T.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- s.SharedInformer.Run(ctx) }()
	synctest.Wait()
	s.stopRun = func() error {
		cancel()
		return <-stopped
	}
}

// add adds a handler.
func (s *sharedRig) add(handler cache.EventHandler[*corev1.Pod], options cache.HandlerOptions) *cache.Registration {
	s.T.Helper()
	r, err := s.AddEventHandler(handler, options)
	if err != nil {
		s.T.Fatal(err)
	}
	return r
}

// expect requires what a handler was told since the last time.
func (s *sharedRig) expect(n *eventNotes, want string) {
	s.T.Helper()
	synctest.Wait()
	if got := n.take(); got != want {
		s.T.Errorf("told [%s], want [%s]", got, want)
	}
}

// words sorts what was told of a state, which comes in no order.
func sortedWords(told string) string {
	words := strings.Split(told, ", ")
	slices.Sort(words)
	return strings.Join(words, ", ")
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

// What a Filter refuses is not stored, and is a deletion if it was.
func TestInformerFilter(t *testing.T) {
	notes := &eventNotes{}
	wanted := func(p *corev1.Pod) bool {
		if p.Labels["x"] == "panic" {
			panic("no")
		}
		return p.Labels["x"] != "no"
	}
	shared(t, cache.InformerOptions[*corev1.Pod]{Filter: wanted}, func(s *sharedRig) {
		s.expect(notes, "Addi ns/a a@2, Addi ns/b b@3, Addi ns/c c@4")
		s.Update(cachetest.Pod("a", cachetest.WithLabel("x", "no")))
		s.expect(notes, "Deleted ns/a a@5")
		s.Update(cachetest.Pod("a", cachetest.WithLabel("x", "no")))
		s.Create(cachetest.Pod("d", cachetest.WithLabel("x", "no")))
		s.Delete("ns/d")
		s.expect(notes, "")
		s.Update(cachetest.Pod("a"))
		s.expect(notes, "Add ns/a a@9")
		s.Delete("ns/a")
		s.expect(notes, "Delete ns/a a@10")
		s.ExpectNoError()
		s.Update(cachetest.Pod("b", cachetest.WithLabel("x", "panic")))
		s.expect(notes, "")
		s.ExpectError(cachetest.ErrorContains("filter: panic: no"))
		s.Update(cachetest.Pod("b"))
		s.expect(notes, "Update ns/b b@3 b@12")
		s.Send(fake.ErrorEvent(fake.Expired()))
		s.Update(cachetest.Pod("b", cachetest.WithLabel("x", "no")))
		s.Create(cachetest.Pod("e", cachetest.WithLabel("x", "no")))
		cachetest.Advance(2 * time.Second)
		s.expect(notes, "Deleted ns/b b@12")
		if got := cachetest.Describe(s.SharedInformer.Store().List()); got != "c@4" {
			t.Errorf("the store holds [%s]", got)
		}
		s.Send(watch.Event{Type: watch.Added, Object: cachetest.Pod("e", cachetest.WithLabel("x", "no"), cachetest.WithVersion("14"))}) // replayed
		synctest.Wait()
		if errs := s.TakeErrors(); len(errs) > 1 {
			t.Errorf("errors reported: %v", errs)
		}
	}, func(s *sharedRig) { s.add(notes, cache.HandlerOptions{}) })
}

// A transform changes what is stored, and what it may not do costs that object only.
func TestInformerTransform(t *testing.T) {
	notes := &eventNotes{}
	calls := 0
	transform := func(p *corev1.Pod) (*corev1.Pod, error) {
		calls++
		switch p.Labels["x"] {
		case "fail":
			return nil, errors.New("not today")
		case "nil":
			return nil, nil //nolint:nilnil // what it must not do
		case "rename":
			p.Name = "other"
		case "panic":
			panic("help")
		}
		p.Spec, p.UID, p.ResourceVersion = corev1.PodSpec{}, "", ""
		p.Annotations = map[string]string{"transformed": "yes"}
		return p, nil
	}
	shared(t, cache.InformerOptions[*corev1.Pod]{Transform: transform}, func(s *sharedRig) {
		s.expect(notes, "Addi ns/a a@, Addi ns/b b@, Addi ns/c c@")
		for i, bad := range []string{"fail", "nil", "rename", "panic"} {
			s.Update(cachetest.Pod("a", cachetest.WithLabel("x", bad)))
			s.expect(notes, "")
			s.ExpectError(cachetest.ErrorContains([]string{"not today", "the result is nil", `has key "ns/other"`, "panic: help"}[i]))
			if p, ok := s.SharedInformer.Store().GetByKey("ns/a"); !ok || len(p.Labels) != 0 || p.Annotations["transformed"] == "" {
				t.Errorf("the last good state of a is %v", p)
			}
		}
		s.Update(cachetest.Pod("a", cachetest.WithLabel("x", "good")))
		s.expect(notes, "Update ns/a a@ a@")
		calls = 0
		s.Send(fake.ErrorEvent(fake.Expired()))
		s.Update(cachetest.Pod("b"))
		cachetest.Advance(2 * time.Second)
		s.expect(notes, "Update ns/b b@ b@")
		if calls != 1 {
			t.Errorf("%d calls for one new object", calls)
		}
		s.Delete("ns/b")
		s.expect(notes, "Delete ns/b b@")
	}, func(s *sharedRig) { s.add(notes, cache.HandlerOptions{}) })
}
