// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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

// catchUp writes the updates that are due.
func (s *historyServer) catchUp() {
	for {
		next := s.began.Add(time.Duration(len(s.events)+1) * s.every)
		if next.After(time.Now()) {
			return
		}
		s.events = append(s.events, historyEvent{1000 + int(next.Sub(s.began).Seconds()*float64(s.perSec)), next})
	}
}

func (s *historyServer) List(_ context.Context, o metav1.ListOptions, _ func(feed.Item) error) (metav1.ListMeta, error) {
	if o.Limit == 1 {
		s.probes++
	} else {
		s.lists = append(s.lists, time.Since(s.began).Round(time.Second))
	}
	return metav1.ListMeta{ResourceVersion: strconv.Itoa(s.version())}, nil
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
		s.catchUp()
		for _, e := range s.events {
			if e.version > sent {
				sent = e.version
				item := feed.Item{Key: "a", UID: "1", ResourceVersion: strconv.Itoa(e.version), Raw: []byte(s.encode(n, e.version))}
				if err := events.Event(watch.Modified, item); err != nil {
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
		t.Logf("overlaps=%v: %d lists %v, %d watches, %d refused, %d probes, %d events applied, unchecked=%v", overlaps, len(s.lists), s.lists, s.watches, s.refusals, s.probes, s.applied, r.Status().HistoryUnchecked)
	})
	return errs
}

// TestQuietSelectionOfABusyServerIsNotListed watches an object that changes every ten minutes, of a
// resource whose versions the server keeps for ten minutes. Nothing fails, and nothing is listed
// again.
func TestQuietSelectionOfABusyServerIsNotListed(t *testing.T) {
	lists := map[bool]int{}
	for _, overlaps := range []bool{false, true} {
		s := &historyServer{perSec: 100, every: 10 * time.Minute, window: 10 * time.Minute}
		s.run(t, 12*time.Hour, overlaps)
		lists[overlaps] = len(s.lists)
	}
	if lists[true] > lists[false] {
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

// TestAlternatingEncodingsCauseFewLists alternates between two API servers, each of which encodes
// objects in its own way, as during an upgrade.
func TestAlternatingEncodingsCauseFewLists(t *testing.T) {
	s := &historyServer{perSec: 1, every: 3 * time.Second, life: 11 * time.Second}
	s.encode = func(n, v int) string { return fmt.Sprintf(`{"server":%d,"v":%d}`, n%2, v) }
	errs := s.run(t, 2*time.Hour, true)
	t.Log(len(errs), errs[:min(4, len(errs))])
	if len(s.lists) > 1+4+2 {
		t.Errorf("%d lists in two hours", len(s.lists))
	}
}

// TestContentsThatAlwaysDifferAreIgnored runs a server whose bytes differ each time. Contents are
// not compared after two lists.
func TestContentsThatAlwaysDifferAreIgnored(t *testing.T) {
	s := &historyServer{perSec: 1, every: 6 * time.Minute}
	s.encode = func(n, v int) string { return fmt.Sprintf(`{"n":%d,"v":%d}`, n, v) }
	errs := s.run(t, 12*time.Hour, true)
	t.Log(len(errs), errs[:min(4, len(errs))])
	if len(s.lists) > 3 {
		t.Errorf("%d lists in 12 hours, want the initial one and two", len(s.lists))
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

// TestReusedVersionAfterAnUpgradeIsFound restores a server, which uses a version again, some
// minutes after an upgrade has changed how it encodes objects.
func TestReusedVersionAfterAnUpgradeIsFound(t *testing.T) {
	for name, upgrade := range map[string]time.Duration{"no upgrade before": 24 * time.Hour, "upgrade before": 6 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			s := &historyServer{perSec: 1, every: 5 * time.Minute, life: time.Minute}
			const restored = 11 * time.Minute
			s.encode = func(_, v int) string {
				raw := fmt.Sprintf(`{"v":%d`, v)
				if time.Since(s.began) > upgrade {
					raw += `,"newField":null`
				}
				if time.Since(s.began) > restored {
					raw += `,"other":"write"`
				}
				return raw + "}"
			}
			s.run(t, 2*time.Hour, true)
			for _, l := range s.lists {
				if l > restored && l < restored+2*time.Minute {
					return
				}
			}
			t.Errorf("lists at %v, want one within a minute and 30 s of %v", s.lists, restored)
		})
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
	list  func(options metav1.ListOptions) (version string, err error)
	watch func(ctx context.Context, options metav1.ListOptions, events feed.WatchSink) error
}

func (s *scriptedServer) List(_ context.Context, options metav1.ListOptions, _ func(feed.Item) error) (metav1.ListMeta, error) {
	if options.Limit == 1 {
		return metav1.ListMeta{ResourceVersion: "100000"}, nil
	}
	version, err := s.list(options)
	return metav1.ListMeta{ResourceVersion: version}, err
}

func (s *scriptedServer) Watch(ctx context.Context, options metav1.ListOptions, events feed.WatchSink) error {
	return s.watch(ctx, options, events)
}

func (*scriptedServer) Traits() feed.Traits { return feed.Traits{} }
