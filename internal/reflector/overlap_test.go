// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// deletingSink records the keys of deletions.
type deletingSink struct {
	emptySink
	deleted []string
}

func (s *deletingSink) Apply(_ watch.EventType, item feed.Item) feed.Outcome {
	s.deleted = append(s.deleted, item.Key)
	return feed.Applied
}

// TestWatchCutAmongEventsOfOneVersionLosesNone cuts a watch among deletions that share a version,
// as those of Events that expire. The resumed watch repeats the first ones and delivers the rest.
func TestWatchCutAmongEventsOfOneVersionLosesNone(t *testing.T) {
	deletions := func(keys string, then func(context.Context, feed.WatchSink) error) func(context.Context, feed.WatchSink) error {
		return func(ctx context.Context, events feed.WatchSink) error {
			events.Opened()
			for _, key := range keys {
				if err := events.Event(watch.Deleted, feed.Item{Key: string(key), UID: "1", ResourceVersion: "9", Raw: []byte("{}")}); err != nil {
					return err
				}
			}
			return then(ctx, events)
		}
	}
	broken := func(context.Context, feed.WatchSink) error { return io.ErrUnexpectedEOF }
	synctest.Test(t, func(t *testing.T) {
		source, sink := listedAt5(deletions("abc", broken), deletions("abcdef", idleWatch)), &deletingSink{}
		run(t, time.Minute, New(Config{Source: &source, Sink: sink}))
		if want := []string{"a", "b", "c", "d", "e", "f"}; !slices.Equal(sink.deleted, want) || source.listed != 1 {
			t.Errorf("deleted %q with %d lists, want %q with one", sink.deleted, source.listed, want)
		}
	})
}

// TestFalseAlarmsEndTheOverlap checks the rules by which lists without a difference end the
// overlap.
func TestFalseAlarmsEndTheOverlap(t *testing.T) {
	type list struct {
		cause    evidence
		differed bool
	}
	for name, c := range map[string]struct {
		lists           []list
		changes, others bool
	}{
		"none":                   {},
		"one":                    {lists: []list{{missingChanges, false}}},
		"two":                    {lists: []list{{missingChanges, false}, {missingChanges, false}}, changes: true},
		"a difference between":   {lists: []list{{missingChanges, false}, {missingChanges, true}, {missingChanges, false}}},
		"differences":            {lists: []list{{missingChanges, true}, {missingChanges, true}, {missingChanges, true}}},
		"a confirmation between": {lists: []list{{missingChanges, false}, {historyUnavailable, false}, {missingChanges, false}}, changes: true},
		"another cause after":    {lists: []list{{missingChanges, false}, {missingChanges, false}, {noEvidence, true}}},
		"other contents":         {lists: []list{{otherContents, false}, {otherContents, false}}, others: true},
	} {
		var f falseAlarms
		for _, l := range c.lists {
			f.listed(l.cause, l.differed)
		}
		if f.repeatsNothing() != c.changes || f.repeatsOtherBytes() != c.others {
			t.Errorf("%s: %+v", name, f)
		}
	}
	f := falseAlarms{changes: 1, contents: 1}
	if f.repeated(false); f != (falseAlarms{contents: 1}) {
		t.Errorf("repeated in other bytes: %+v", f)
	}
	if f.repeated(true); f != (falseAlarms{}) {
		t.Errorf("repeated: %+v", f)
	}
}

// runOverlap runs a reflector for d of fake time. It lists at 5, receives a change at 9, and
// resumes with then. later answer the requests that follow the initial list. It returns the
// reported errors.
func runOverlap(t *testing.T, d time.Duration, source *scriptedSource, then func(context.Context, feed.WatchSink) error, later ...func() (string, error)) (reported []error) {
	t.Helper()
	changed := func(_ context.Context, events feed.WatchSink) error {
		events.Opened()
		return cmp.Or(events.Event(watch.Deleted, feed.Item{Key: "a", UID: "1", ResourceVersion: "9", Raw: []byte("{}")}), io.ErrUnexpectedEOF)
	}
	source.lists = append(lists{listAt("5")}, later...)
	source.watches = watches{changed, then, idleWatch}
	synctest.Test(t, func(t *testing.T) {
		run(t, d, New(Config{Source: source, Sink: &deletingSink{}, Report: func(_ context.Context, err error) {
			reported = append(reported, err)
		}}))
	})
	return reported
}

// TestMissingChangesCauseAListAtOnce resumes a watch at servers that do not repeat the last change.
func TestMissingChangesCauseAListAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		watch func(context.Context, feed.WatchSink) error
		lists int // and probes, after the initial list
		after time.Duration
	}{
		"another event": {lists: 1, after: time.Second, watch: func(_ context.Context, events feed.WatchSink) error {
			events.Opened()
			return events.Event(watch.Deleted, feed.Item{Key: "b", UID: "2", ResourceVersion: "9", Raw: []byte("{}")})
		}},
		"a bookmark past it": {lists: 1, after: time.Second, watch: func(_ context.Context, events feed.WatchSink) error {
			events.Opened()
			return events.Bookmark("20", false)
		}},
		"silence": {lists: 2, after: 10 * time.Second, watch: idleWatch},
	} {
		t.Run(name, func(t *testing.T) {
			var source scriptedSource
			reported := runOverlap(t, c.after, &source, c.watch, listAt("20"))
			if last := reported[len(reported)-1]; !errors.Is(last, ErrHistoryChanged) || source.listed != 1+c.lists {
				t.Errorf("error %v and %d lists within %s, want %v and %d", last, source.listed, c.after, ErrHistoryChanged, 1+c.lists)
			}
		})
	}
}

// TestUnansweredProbeProvesNothing resumes a watch at a server that is silent and answers no probe:
// it receives one after the silence, and then no more than without an overlap: after one or two
// minutes one in 30 to 40 seconds.
func TestUnansweredProbeProvesNothing(t *testing.T) {
	var source scriptedSource
	reported := runOverlap(t, 4*time.Minute, &source, idleWatch, listError(apierrors.NewServiceUnavailable("")))
	if probes := source.listed - 1; probes < 2 || probes > 8 {
		t.Errorf("%d probes in four minutes, want 2 to 8", probes)
	}
	if source.watched != 2 || len(reported) != 1 {
		t.Errorf("%d watches and errors %v, want two watches and the broken connection", source.watched, reported)
	}
}

// TestListEmptiesTheJournal checks that a watch after a list starts at the list's version.
func TestListEmptiesTheJournal(t *testing.T) {
	r := New(Config{Source: &scriptedSource{}, Sink: emptySink{}})
	r.journal.record(change{version: "9"}, "5", time.Now())
	if r.historyListed("20", false); r.journal.overlap(time.Now()) != nil {
		t.Error("changes from before a list are compared")
	}
}

// TestNoOverlapWhereItIsNotAllowed checks that a fake of client-go, and a client that decodes
// itself, are not asked to repeat changes.
func TestNoOverlapWhereItIsNotAllowed(t *testing.T) {
	for name, config := range map[string]Config{
		"fake":          {Source: &scriptedSource{traits: feed.Traits{Fake: true}}},
		"not streaming": {Source: &scriptedSource{}, Overlaps: always(false)},
	} {
		r := New(config)
		r.state = stateResuming
		if r.journal.record(change{version: "9"}, "5", time.Now()); r.beginOverlap() != nil {
			t.Errorf("%s: a resumed watch starts before the last changes", name)
		}
	}
}
