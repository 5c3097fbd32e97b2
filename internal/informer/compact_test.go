package informer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/reflector"
)

// behind plays a scene whose handlers are behind after four events, and take so many at a
// time.
func behind(t *testing.T, hand int, list []string, prepare, test func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		source := &script{list: list, version: "10", events: make(chan scripted)}
		s := &scene{t: t, source: source, Informer: New(Config[string]{
			Name: "strings", Store: stringStore(false), Reflector: reflector.Config{Source: source}, CoalesceThreshold: 4, hand: hand,
			Terminating: func(object string) bool { return strings.Contains(object, "deleting") },
		})}
		prepare(s)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		s.stop = func() error {
			cancel()
			return <-done
		}
		synctest.Wait()
		test(s)
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

// add adds a handler.
func (s *scene) add(config HandlerConfig[string]) *Handler[string] {
	s.t.Helper()
	h, err := s.Add(config)
	if err != nil {
		s.t.Fatal(err)
	}
	return h
}

// updates sends n updates of a.
func (s *scene) updates(from, n int) {
	for k := range n {
		s.send(watch.Modified, fmt.Sprint("a=", from+k), fmt.Sprint(from+k))
	}
}

// The rules of joining, one by one, for a handler that is stuck in its first call.
func TestWhatIsJoined(t *testing.T) {
	var log []string
	var resume chan struct{}
	behind(t, handSize, []string{"a=1", "b=1", "c=1", "d=1"}, func(s *scene) {
		resume = make(chan struct{})
		s.add(HandlerConfig[string]{Name: "stuck", OnEvent: func(e Event[string]) {
			noted(&log)(e)
			if e.Coalesced > 0 {
				log[len(log)-1] += fmt.Sprint(" +", e.Coalesced)
			}
			<-resume
		}})
	}, func(s *scene) {
		log = nil
		s.updates(11, 10)
		for version, sent := range []string{"b=2", "-b=last", "e=1", "e=2", "e=deleting", "e=deleting3", "-e=last", "f=1", "f=2", "c=2"} {
			eventType := watch.Modified
			if strings.HasPrefix(sent, "-") {
				eventType, sent = watch.Deleted, sent[1:]
			}
			s.send(eventType, sent, fmt.Sprint(30+version))
		}
		if h := s.current()[0]; h.position() < s.log.Appended()-1 || h.pending.n > 10 {
			s.t.Errorf("%d events read of %d, %d wait", h.position(), s.log.Appended(), h.pending.n)
		}
		close(resume)
		synctest.Wait()
		s.expect("the handler", log[3:],
			"U a a=1→a=20 +9", "D b b=1→ +1", "A e →e=2 +1", "D e e=2→ +2", "A f →f=2 +1", "U c c=1→c=2")
	})
}

// A resync that is due while a handler is being relieved comes when it has caught up, and
// shows nothing older than what it was told.
func TestResyncWaitsForTheRelief(t *testing.T) {
	var log []string
	var resume chan struct{}
	behind(t, 1, []string{"a=1"}, func(s *scene) {
		resume = make(chan struct{})
		s.add(HandlerConfig[string]{Name: "stuck", Resync: time.Minute, OnEvent: func(e Event[string]) {
			noted(&log)(e)
			if e.New == "a=11" || e.New == "a=30" || e.New == "a=31" || strings.HasSuffix(e.New, "!") {
				<-resume
			}
		}})
	}, func(s *scene) {
		s.updates(11, 10)
		<-time.After(2 * time.Minute)
		resume <- struct{}{}
		synctest.Wait()
		s.expect("the handler", log, "A a →a=1 (initial)", "U a a=1→a=11", "U a a=11→a=20", "U a a=20→a=20")
		log = nil
		s.updates(30, 3) // stuck at the first of them
		<-time.After(time.Minute)
		resume <- struct{}{} // the resync is due, after the third; stuck at the second
		synctest.Wait()
		s.updates(33, 10)
		resume <- struct{}{}
		synctest.Wait()
		s.expect("the handler", log, "U a a=20→a=30", "U a a=30→a=31", "U a a=31→a=42", "U a a=42→a=42")
		log = nil
		s.send(watch.Modified, "a=50!", "50")
		s.send(watch.Added, "b=51!", "51")
		s.updates(52, 4)
		<-time.After(time.Minute)
		resume <- struct{}{} // the resync is due while a's updates wait; stuck at b
		synctest.Wait()
		s.updates(56, 4)
		resume <- struct{}{}
		synctest.Wait()
		s.expect("the handler", log[:3], "U a a=42→a=50!", "A b →b=51!", "U a a=50!→a=59")
		if len(log) < 4 || log[3] != "U a a=59→a=59" && log[3] != "U b b=51!→b=51!" {
			s.t.Errorf("the handler was told %q, and no resync", log)
		}
		close(resume)
	})
}

// A handler that panics is told the next event, after the pause that its owner wants.
func TestPanicsAndPauses(t *testing.T) {
	defer func(crash bool) { utilruntime.ReallyCrash = crash }(utilruntime.ReallyCrash)
	utilruntime.ReallyCrash = false
	for _, goOn := range []bool{false, true} {
		var told []time.Duration
		var heard []string
		var began time.Time
		play(t, false, []string{"a=1", "b=1", "c=1"}, func(s *scene) {
			began = time.Now()
			s.add(HandlerConfig[string]{
				Name: "bad", ContinueOnPanic: goOn, PanicDelay: time.Second,
				OnPanic: func(_ context.Context, key string, r any) { heard = append(heard, fmt.Sprint(key, " ", r)) },
				OnEvent: func(e Event[string]) {
					told = append(told, time.Since(began))
					if e.Key != "c" {
						panic("no " + e.Key)
					}
				},
			})
		}, func(s *scene) {
			<-time.After(5 * time.Second)
			synctest.Wait()
			s.expect("who hears of panics", heard, "a no a", "b no b")
			if fmt.Sprint(told) != "[0s 1s 2s]" || !s.HasSynced() {
				s.t.Errorf("told at %v, synced %v", told, s.HasSynced())
			}
			if err := s.stop(); err != nil {
				s.t.Error(err)
			}
		})
	}
}

// With a negative grace Run waits for its handlers for as long as it takes.
func TestEndlessGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resume := make(chan struct{})
		i := New(Config[string]{Name: "strings", Store: stringStore(false), HandlerGrace: -1, Reflector: reflector.Config{Source: &script{list: []string{"a=1"}, version: "1"}}})
		i.AddHandler("slow", func(Event[string]) { <-resume }, 0)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- i.Run(ctx) }()
		synctest.Wait()
		cancel()
		<-time.After(time.Hour)
		select {
		case err := <-done:
			t.Errorf("Run returned %v while a handler was called", err)
		default:
		}
		if _, err := i.Add(HandlerConfig[string]{Name: "late", OnEvent: func(Event[string]) {}}); !errors.Is(err, ErrStopped) {
			t.Errorf("a handler that came while the informer ended: %v", err)
		}
		close(resume)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
