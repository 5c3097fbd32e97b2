// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// historyEvent is an event of historyServer's history.
type historyEvent struct {
	version int
	at      time.Time
}

// historyServer is an API server with a history of one object's updates.
type historyServer struct {
	began    time.Time
	perSec   int           // versions per second, of other objects
	every    time.Duration // between updates of our object
	window   time.Duration // how long a version is kept for watches; 0: for ever
	life     time.Duration // of each watch; 0: its own timeout
	encode   func(watchNo int, version int) string
	tooOld   func() error // the error for a watch before the window
	mu       sync.Mutex   // guards events
	events   []historyEvent
	watches  int
	opened   int
	lists    []time.Duration
	probes   int
	refusals int
	spacing  time.Duration // between events, as of a slow connection
	cut      error         // with which a watch ends after life
	applied  int
}

func (s *historyServer) version() int {
	return 1000 + int(time.Since(s.began).Seconds()*float64(s.perSec))
}

// history writes the updates that are due, and returns all.
func (s *historyServer) history() []historyEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		next := s.began.Add(time.Duration(len(s.events)+1) * s.every)
		if next.After(time.Now()) {
			return s.events
		}
		s.events = append(s.events, historyEvent{1000 + int(next.Sub(s.began).Seconds()*float64(s.perSec)), next})
	}
}

func (s *historyServer) List(_ context.Context, o metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	if o.Limit == 1 {
		s.probes++
		if events := s.history(); len(events) > 0 {
			_ = add(s.item(-1, events[len(events)-1].version))
		}
	} else {
		s.lists = append(s.lists, time.Since(s.began).Round(time.Second))
	}
	return metav1.ListMeta{ResourceVersion: strconv.Itoa(s.version())}, nil
}

// item returns the object as the nth watch shows it.
func (s *historyServer) item(n, version int) feed.Item {
	return feed.Item{Key: "a", UID: "1", ResourceVersion: strconv.Itoa(version), Raw: []byte(s.encode(n, version))}
}

func (s *historyServer) Watch(ctx context.Context, o metav1.ListOptions, events feed.WatchSink) error {
	s.watches++
	from, _ := strconv.Atoi(o.ResourceVersion)
	if s.window > 0 && from < s.version()-int(s.window.Seconds()*float64(s.perSec)) {
		s.refusals++
		return s.tooOld()
	}
	n := s.opened
	s.opened++
	life := s.life
	if life == 0 {
		life = time.Duration(*o.TimeoutSeconds) * time.Second
	}
	end := time.Now().Add(life)
	events.Opened()
	sent := from
	bookmark := time.Now().Add(time.Minute)
	for {
		for _, e := range s.history() {
			if e.version > sent {
				sent = e.version
				if err := events.Event(watch.Modified, s.item(n, e.version)); err != nil {
					return err
				}
				if <-time.After(s.spacing); !time.Now().Before(end) {
					return s.cut
				}
			}
		}
		if !time.Now().Before(bookmark) {
			bookmark = bookmark.Add(time.Minute)
			if v := s.version(); v > sent {
				sent = v
				if err := events.Bookmark(strconv.Itoa(v), false); err != nil {
					return err
				}
			}
		}
		if !time.Now().Before(end) {
			return s.cut
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *historyServer) Traits() feed.Traits { return feed.Traits{} }

// appliedSink counts the events that are applied.
type appliedSink struct {
	emptySink
	s *historyServer
}

func (z appliedSink) Apply(watch.EventType, feed.Item) feed.Outcome {
	z.s.applied++
	return feed.Applied
}
func (appliedSink) AdvanceVersion(string)     {}
func (appliedSink) HasVersion(feed.Item) bool { return true }

// run runs a reflector for a time, and returns the errors that it reports.
func (s *historyServer) run(t *testing.T, d time.Duration, overlaps bool) (errs []string) {
	if s.encode == nil {
		s.encode = func(_, v int) string { return fmt.Sprintf(`{"v":%d}`, v) }
	}
	if s.tooOld == nil {
		s.tooOld = func() error { return apierrors.NewResourceExpired("too old") }
	}
	synctest.Test(t, func(t *testing.T) {
		s.began = time.Now()
		r := New(Config{Source: s, Sink: appliedSink{s: s}, Overlaps: always(overlaps), Report: func(_ context.Context, err error) {
			errs = append(errs, fmt.Sprint(time.Since(s.began).Round(time.Second), " ", err))
		}})
		run(t, d, r)
		t.Logf("overlaps=%v: %d lists %v, %d watches, %d refused, %d probes, %d events applied", overlaps, len(s.lists), s.lists, s.watches, s.refusals, s.probes, s.applied)
	})
	return errs
}

// TestQuietSelectionOfABusyServerIsNotListed watches an object that changes every ten minutes, of a
// resource whose versions the server keeps for ten minutes. Nothing fails, and hardly anything is
// listed again.
func TestQuietSelectionOfABusyServerIsNotListed(t *testing.T) {
	lists := map[bool]int{}
	for _, overlaps := range []bool{false, true} {
		s := &historyServer{perSec: 100, every: 10 * time.Minute, window: 10 * time.Minute}
		s.run(t, 12*time.Hour, overlaps)
		lists[overlaps] = len(s.lists)
	}
	// A list follows if the object is written between a 410 and the question.
	if lists[true] > lists[false]+2 {
		t.Errorf("%d lists in 12 h of a healthy server, %d without the overlap", lists[true], lists[false])
	}
}

// TestRefusedOverlapIsGivenUp runs a server that refuses old versions by another error than 410.
// The events are applied as without the overlap.
func TestRefusedOverlapIsGivenUp(t *testing.T) {
	for name, tooOld := range map[string]func() error{
		"500": func() error { return apierrors.NewInternalError(errors.New("required revision has been compacted")) },
		"400": func() error { return apierrors.NewBadRequest("resourceVersion is too old") },
		"403": func() error { return apierrors.NewForbidden(podResource, "", errors.New("old")) },
		"504": func() error { return apierrors.NewTimeoutError("etcd is slow", 0) },
	} {
		t.Run(name, func(t *testing.T) {
			applied := map[bool]int{}
			for _, overlaps := range []bool{false, true} {
				s := &historyServer{perSec: 100, every: 10 * time.Minute, window: 10 * time.Minute, tooOld: tooOld}
				errs := s.run(t, 6*time.Hour, overlaps)
				applied[overlaps] = s.applied
				for _, e := range errs[:min(3, len(errs))] {
					t.Log(e)
				}
				t.Log(len(errs), "errors")
			}
			if applied[true] < applied[false]-1 { // a list may bring one
				t.Errorf("%d events applied, %d without the overlap", applied[true], applied[false])
			}
		})
	}
}

// TestOverlapDoesNotHinderASlowConnection cuts each watch after five seconds, in which five events
// arrive.
func TestOverlapDoesNotHinderASlowConnection(t *testing.T) {
	applied := map[bool]int{}
	for _, overlaps := range []bool{false, true} {
		s := &historyServer{perSec: 1, every: 5 * time.Second, life: 5 * time.Second, spacing: time.Second, cut: syscall.ECONNRESET}
		s.run(t, 6*time.Hour, overlaps)
		applied[overlaps] = s.applied
	}
	if applied[true] < applied[false]*9/10 { // lists bring some
		t.Errorf("%d events applied in 6 h, %d without the overlap", applied[true], applied[false])
	}
}

// TestCutGroupIsListedIfTheOverlapIsGone cuts a watch among the deletions of one version. The next
// server does not have the start of the overlap.
func TestCutGroupIsListedIfTheOverlapIsGone(t *testing.T) {
	var lostFor []time.Duration
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var cuts []time.Duration
		n := 0
		version := 5
		src := &scriptedServer{watch: func(ctx context.Context, o metav1.ListOptions, events feed.WatchSink) error {
			n++
			from, _ := strconv.Atoi(o.ResourceVersion)
			if from < version { // the new server begins at the group's version
				return apierrors.NewResourceExpired("too old")
			}
			events.Opened()
			<-time.After(10 * time.Minute)
			version += 10
			for i := range 3 { // of six
				if err := events.Event(watch.Deleted, feed.Item{Key: fmt.Sprint(version, i), UID: "1", ResourceVersion: strconv.Itoa(version), Raw: []byte("{}")}); err != nil {
					return err
				}
			}
			cuts = append(cuts, time.Since(began))
			return syscall.ECONNRESET
		}}
		src.list = func(metav1.ListOptions) (string, error) {
			for _, c := range cuts {
				lostFor = append(lostFor, (time.Since(began) - c).Round(time.Second))
			}
			cuts = nil
			return strconv.Itoa(version), nil
		}
		run(t, 3*time.Hour, New(Config{Source: src, Sink: &deletingSink{}}))
	})
	t.Logf("after a cut, deletions are missing for %v", lostFor)
	for _, d := range lostFor {
		if d > 6*time.Minute {
			t.Errorf("deletions are missing for %v", d)
		}
	}
}

// TestRefusalOfTheMatchIsForgotten answers one relist with 400. Later ones are requested in pages.
func TestRefusalOfTheMatchIsForgotten(t *testing.T) {
	var limits []int64
	synctest.Test(t, func(t *testing.T) {
		n := 0
		src := &scriptedServer{
			list: func(o metav1.ListOptions) (string, error) {
				if o.Limit == 1 {
					return strconv.Itoa(5 + n), nil
				}
				n++
				limits = append(limits, o.Limit)
				if n == 2 {
					return "", apierrors.NewBadRequest("a proxy's answer")
				}
				return strconv.Itoa(5 + n), nil
			},
			watch: func(ctx context.Context, _ metav1.ListOptions, e feed.WatchSink) error {
				e.Opened()
				openFor(ctx, 3*time.Minute)
				return apierrors.NewResourceExpired("too old")
			},
		}
		run(t, 3*time.Hour, New(Config{Source: src, Sink: emptySink{}, PageSize: 10}))
	})
	t.Log(limits)
	if limits[len(limits)-1] != 10 {
		t.Errorf("limits %v: the last relist of a server that accepts pages has none", limits)
	}
}

// TestOverlapThatIsNotAnsweredIsGivenUp refuses each watch with an overlap, and serves those from
// the version reached.
func TestOverlapThatIsNotAnsweredIsGivenUp(t *testing.T) {
	for name, refusal := range map[string]error{
		"503":     apierrors.NewServiceUnavailable("x"),
		"429":     apierrors.NewTooManyRequests("x", 1),
		"timeout": context.DeadlineExceeded,
		"other":   errors.New("x"),
	} {
		applied := 0
		synctest.Test(t, func(t *testing.T) {
			v := 100
			src := &scriptedServer{
				list: func(metav1.ListOptions) (string, error) { return strconv.Itoa(v), nil },
				watch: func(ctx context.Context, o metav1.ListOptions, e feed.WatchSink) error {
					if o.ResourceVersion != strconv.Itoa(v) {
						return refusal
					}
					e.Opened()
					<-time.After(time.Minute)
					v++
					applied++
					return e.Event(watch.Modified, feed.Item{Key: "a", UID: "1", ResourceVersion: strconv.Itoa(v), Raw: []byte("{}")})
				},
			}
			run(t, 2*time.Hour, New(Config{Source: src, Sink: &deletingSink{}}))
		})
		if applied < 50 {
			t.Errorf("%s: %d events in two hours, want about 118", name, applied)
		}
	}
}

// scriptedServer answers lists with a version, and watches by a function. Each probe is answered
// with a version that is greater than any other.
type scriptedServer struct {
	list   func(options metav1.ListOptions) (version string, err error)
	object feed.Item                  // the answer to lists of one object; none if it has no key
	asked  func(fieldSelector string) // of each list of one object; may be nil
	// answer is the answer to a list of one object, instead of object and version 100000.
	answer func(ctx context.Context, fieldSelector string) (object feed.Item, version string, err error)
	watch  func(ctx context.Context, options metav1.ListOptions, events feed.WatchSink) error
}

func (s *scriptedServer) List(ctx context.Context, options metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	if options.Limit == 1 {
		if s.asked != nil {
			s.asked(options.FieldSelector)
		}
		object, version, err := s.object, "100000", error(nil)
		if s.answer != nil {
			object, version, err = s.answer(ctx, options.FieldSelector)
		}
		if object.Key != "" {
			_ = add(object)
		}
		return metav1.ListMeta{ResourceVersion: version}, err
	}
	version, err := s.list(options)
	return metav1.ListMeta{ResourceVersion: version}, err
}

func (s *scriptedServer) Watch(ctx context.Context, options metav1.ListOptions, events feed.WatchSink) error {
	return s.watch(ctx, options, events)
}

func (*scriptedServer) Traits() feed.Traits { return feed.Traits{} }
