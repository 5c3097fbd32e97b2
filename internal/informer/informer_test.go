package informer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a source of strings: a list, then what is sent.
type script struct {
	list    []string // key=state
	version string
	events  chan scripted
}

type scripted struct {
	eventType watch.EventType
	object    string
	version   string
}

func item(object, version string) feed.Item {
	key, _, _ := strings.Cut(object, "=")
	return feed.Item{Key: key, UID: "uid-" + key, ResourceVersion: version, Raw: []byte(object)}
}

func (s *script) List(_ context.Context, _ metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	for _, object := range s.list {
		if err := add(item(object, s.version)); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	return metav1.ListMeta{ResourceVersion: s.version}, nil
}

func (s *script) Watch(ctx context.Context, _ metav1.ListOptions, events feed.WatchSink) error {
	events.Opened()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-s.events:
			if err := events.Event(e.eventType, item(e.object, e.version)); err != nil {
				return err
			}
		}
	}
}

// asIs packs objects as the bytes that they came in; one whose state is "corrupt" cannot
// be unpacked.
type asIs struct{}

func (asIs) Pack(item feed.Item, _ pack.Object, _ func() (string, error)) (pack.Object, error) {
	return pack.New().Pack(item.Raw, "", pack.Object{}), nil
}

func (asIs) Unpack(object pack.Object) (string, error) {
	raw, err := object.Unpack(nil)
	if err == nil && strings.HasSuffix(string(raw), "=corrupt") {
		return "", errors.New("corrupt")
	}
	return string(raw), err
}

// stringStore keeps objects as text, which says its key.
func stringStore(packed bool) store.Config[string] {
	config := store.Config[string]{
		Key:      func(object string) (string, error) { key, _, _ := strings.Cut(object, "="); return key, nil },
		ItemKeys: true,
		Identity: func(string) (string, string) { return "", "" },
		Decode:   func(item feed.Item) (string, error) { return string(item.Raw), nil },
		Report:   func(string, error) {},
	}
	if packed {
		config.Packer = asIs{}
	}
	return config
}

// AddHandler is Add of a handler that is told every event, with a resync, to an informer
// that has not stopped.
func (i *Informer[V]) AddHandler(name string, deliver func(Event[V]), resync time.Duration) {
	if _, err := i.Add(HandlerConfig[V]{Name: name, OnEvent: deliver, Delivery: EveryEvent, Resync: resync}); err != nil {
		panic(err)
	}
}

// scene is an informer on a script, in a bubble.
type scene struct {
	*Informer[string]
	t      *testing.T
	source *script
	stop   func() error
}

func play(t *testing.T, packed bool, list []string, prepare, test func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		source := &script{list: list, version: "10", events: make(chan scripted)}
		s := &scene{t: t, source: source, Informer: New(Config[string]{
			Name: "strings", Store: stringStore(packed), Reflector: reflector.Config{Source: source},
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
	})
}

func (s *scene) send(eventType watch.EventType, object, version string) {
	s.source.events <- scripted{eventType, object, version}
	synctest.Wait()
}

// noted returns a receiver that writes down what it is told.
func noted(log *[]string) func(Event[string]) {
	return func(e Event[string]) {
		word := fmt.Sprint([]string{"A", "U", "D"}[e.Type], " ", e.Key, " ", e.Old, "→", e.New)
		if e.InInitial {
			word += " (initial)"
		}
		*log = append(*log, word)
	}
}

func (s *scene) expect(what string, got []string, want ...string) {
	s.t.Helper()
	if !slices.Equal(got, want) {
		s.t.Errorf("%s was told %q, want %q", what, got, want)
	}
}

// Every handler is told everything, in order, at its own pace; one that is stuck holds
// up nobody but the sync.
func TestHandlersAreIndependent(t *testing.T) {
	var first, second, slow []string
	var resume chan struct{}
	play(t, false, []string{"a=1", "b=1"}, func(s *scene) {
		resume = make(chan struct{})
		s.AddHandler("first", noted(&first), 0)
		s.AddHandler("slow", func(e Event[string]) {
			<-resume
			noted(&slow)(e)
		}, 0)
		s.AddHandler("second", noted(&second), 0)
	}, func(s *scene) {
		s.send(watch.Modified, "a=2", "11")
		s.send(watch.Deleted, "b=2", "12")
		want := []string{"A a →a=1 (initial)", "A b →b=1 (initial)", "U a a=1→a=2", "D b b=1→"}
		s.expect("first", first, want...)
		s.expect("second", second, want...)
		s.expect("slow", slow)
		if s.HasSynced() {
			t.Error("synced, with a handler that was told nothing")
		}
		if got := fmt.Sprint(s.Handlers()); got != "[{first true 0 0s 0} {slow false 4 0s 0} {second true 0 0s 0}]" {
			t.Errorf("handlers %s", got)
		}
		close(resume)
		if err := s.WaitForSync(s.t.Context()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		s.expect("slow", slow, want...)
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

// A Run that ends names a handler that does not, after ten seconds for all together.
func TestBlockedHandlersAreNamed(t *testing.T) {
	var resume chan struct{}
	play(t, false, []string{"a=1"}, func(s *scene) {
		resume = make(chan struct{})
		for _, name := range []string{"good", "bad", "worse"} {
			s.AddHandler(name, func(Event[string]) {
				if name != "good" {
					<-resume
				}
			}, 0)
		}
	}, func(s *scene) {
		began := time.Now()
		if err := s.stop(); !errors.Is(err, ErrHandlerBlocked) || !strings.Contains(err.Error(), "bad") || time.Since(began) != handlerGrace {
			t.Errorf("Run: %v, after %v", err, time.Since(began))
		}
		close(resume)
	})
}

// A deletion shows the state in which the object was deleted, and the last that the
// handler was told.
func TestDeletionShowsBothStates(t *testing.T) {
	var deletions []Event[string]
	play(t, false, []string{"a=1", "b=1"}, func(s *scene) {
		s.AddHandler("", func(e Event[string]) {
			if e.Type == Delete {
				deletions = append(deletions, e)
			}
		}, 0)
	}, func(s *scene) {
		s.send(watch.Deleted, "a=last", "11")
		if len(deletions) != 1 || deletions[0].Old != "a=1" || deletions[0].Final != "a=last" || deletions[0].New != "" {
			t.Errorf("deletions %+v", deletions)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

// A packed state that cannot be read is not told; what is around it is, and a deletion
// that can show one of its two states is a deletion.
func TestStatesThatCannotBeRead(t *testing.T) {
	var log []string
	play(t, true, []string{"a=1", "b=1"}, func(s *scene) { s.AddHandler("", noted(&log), 0) }, func(s *scene) {
		log = nil
		s.send(watch.Modified, "a=corrupt", "11")
		s.send(watch.Modified, "b=2", "12")
		s.expect("the handler", log, "U b b=1→b=2")
		if _, quarantined := s.Size(); quarantined != 1 {
			t.Errorf("%d quarantined", quarantined)
		}
		log = nil
		s.send(watch.Modified, "a=3", "13")
		s.expect("the handler", log, "U a a=3→a=3")
		s.send(watch.Modified, "a=corrupt", "14")
		log = nil
		s.send(watch.Deleted, "a=last", "15")
		s.expect("the handler", log, "D a →")
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

// Each handler has its own resync.
func TestResyncPeriodsAreTheHandlers(t *testing.T) {
	counts := make([]int, 3)
	play(t, false, []string{"a=1", "b=1"}, func(s *scene) {
		for i, period := range []time.Duration{0, 10 * time.Second, 30 * time.Second} {
			s.AddHandler(fmt.Sprint(i), func(e Event[string]) {
				if e.Type == Update {
					counts[i]++
				}
			}, period)
		}
	}, func(s *scene) {
		<-time.After(61 * time.Second)
		synctest.Wait()
		if got := fmt.Sprint(counts); got != "[0 12 4]" {
			t.Errorf("updates in a minute: %s", got)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

// A handler may be removed at any time, and again: before Run, and after the end.
func TestRemovedWheneverAndAgain(t *testing.T) {
	var kept *Handler[string]
	play(t, false, []string{"a=1"}, func(s *scene) {
		early, err := s.Add(HandlerConfig[string]{OnEvent: func(Event[string]) {}})
		if err != nil {
			t.Fatal(err)
		}
		early.Remove()
		early.Remove()
		<-early.Done()
		kept, _ = s.Add(HandlerConfig[string]{OnEvent: func(Event[string]) {}})
	}, func(s *scene) {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		<-kept.Done()
		kept.Remove()
		kept.Remove()
	})
}
