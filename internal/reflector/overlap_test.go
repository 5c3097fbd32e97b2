// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/history"
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

// differing is a committed list that differs from what was received, or only in contents.
type differing struct {
	emptyReplacement

	changes, contents bool
}

func (d differing) Differs(_ string, contents bool) bool {
	return d.changes || contents && d.contents
}

// TestFalseAlarmsEndTheOverlap checks the rules by which lists without a difference end the
// overlap.
func TestFalseAlarmsEndTheOverlap(t *testing.T) {
	type list struct {
		evidence history.Evidence
		list     differing
	}
	var same, changed, rewritten = differing{}, differing{changes: true}, differing{contents: true}
	for name, c := range map[string]struct {
		lists []list
		want  bool
	}{
		"none":                       {},
		"one":                        {lists: []list{{history.OtherHistory, same}}},
		"two":                        {lists: []list{{history.OtherHistory, same}, {history.OtherContents, same}}, want: true},
		"a difference between":       {lists: []list{{history.OtherHistory, same}, {history.OtherHistory, changed}, {history.OtherHistory, same}}},
		"differences":                {lists: []list{{history.OtherHistory, changed}, {history.OtherHistory, changed}}},
		"other contents alone":       {lists: []list{{history.OtherContents, rewritten}, {history.OtherHistory, rewritten}}, want: true},
		"other contents of a write":  {lists: []list{{history.OtherWrite, rewritten}, {history.OtherWrite, rewritten}}},
		"another cause after":        {lists: []list{{history.OtherHistory, same}, {history.OtherHistory, same}, {history.None, same}}},
		"no difference after writes": {lists: []list{{history.OtherWrite, same}, {history.OtherWrite, same}}, want: true},
	} {
		r := New(Config{Source: &scriptedSource{}, Sink: emptySink{}})
		for _, l := range c.lists {
			r.proof.evidence = l.evidence
			r.proof.beginList()
			r.proof.committed(l.list, "5")
		}
		r.state = stateResuming
		r.proof.history.Received(watch.Added, feed.Item{Key: "a", ResourceVersion: "9"}, history.Stamp{}, "5", time.Now())
		if got := r.beginOverlap() == nil; got != c.want {
			t.Errorf("%s: no overlap: %v, want %v", name, got, c.want)
		}
	}
}

// answeringSource is a scriptedSource whose lists of one object have that object, or none.
type answeringSource struct {
	scriptedSource

	objects []feed.Item // the nth list of one object, from 0 on; afterwards the last one
	asked   int
}

func (s *answeringSource) List(ctx context.Context, options metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	page, err := s.scriptedSource.List(ctx, options, add)
	if options.Limit == 1 && err == nil {
		n := min(s.asked, len(s.objects)-1)
		if s.asked++; n >= 0 && s.objects[n].Key != "" {
			err = add(s.objects[n])
		}
	}
	return page, err
}

// runOverlap runs a reflector for d of fake time. It lists at 5, receives additions at 7 and 9, and
// resumes with then. later answer the requests that follow the initial list. It returns the
// reported errors.
func runOverlap(t *testing.T, d time.Duration, source *answeringSource, then []func(context.Context, feed.WatchSink) error, later ...func() (string, error)) (reported []error) {
	t.Helper()
	changed := func(_ context.Context, events feed.WatchSink) error {
		events.Opened()
		return cmp.Or(events.Event(watch.Added, added("b", "7")), events.Event(watch.Added, added("a", "9")), io.ErrUnexpectedEOF)
	}
	source.lists = append(lists{listAt("5")}, later...)
	source.watches = append(append(watches{changed}, then...), idleWatch)
	synctest.Test(t, func(t *testing.T) {
		run(t, d, New(Config{Source: source, Sink: &deletingSink{}, Report: func(_ context.Context, err error) {
			reported = append(reported, err)
		}}))
	})
	return reported
}

// added returns an item that the client has decoded, and that was written at a time.
func added(key, version string) feed.Item { return written(key, version, 1000) }

func written(key, version string, seconds int64) feed.Item {
	at := metav1.Unix(seconds, 0)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", Time: &at}}}}
	return feed.Item{Key: key, UID: "1", ResourceVersion: version, Object: pod, Received: pod}
}

// TestMissingChangesCauseAListAtOnce resumes a watch at servers that do not repeat the last change.
func TestMissingChangesCauseAListAtOnce(t *testing.T) {
	for name, then := range map[string]func(context.Context, feed.WatchSink) error{
		"another event": func(_ context.Context, events feed.WatchSink) error {
			events.Opened()
			return events.Event(watch.Added, added("c", "7"))
		},
		"a bookmark past it": func(_ context.Context, events feed.WatchSink) error {
			events.Opened()
			return events.Bookmark("20", false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var source answeringSource
			reported := runOverlap(t, time.Second, &source, watches{then}, listAt("20"))
			if last := reported[len(reported)-1]; !errors.Is(last, ErrHistoryChanged) || source.listed != 2 {
				t.Errorf("error %v and %d lists, want %v and 2", last, source.listed, ErrHistoryChanged)
			}
		})
	}
}

// TestServerIsAskedForTheNewestChange resumes a watch at servers that do not repeat the last
// changes, or have not got them for watches any more, and checks what follows their answer.
func TestServerIsAskedForTheNewestChange(t *testing.T) {
	gone := refusedWith(apierrors.NewResourceExpired("too old"))
	deletes := func(keys ...string) func(context.Context, feed.WatchSink) error {
		return func(ctx context.Context, events feed.WatchSink) error {
			events.Opened()
			openFor(ctx, 2*time.Second)
			for i, key := range keys {
				if err := events.Event(watch.Deleted, added(key, fmt.Sprint(10+i))); err != nil {
					return err
				}
			}
			return idleWatch(ctx, events)
		}
	}
	none := feed.Item{}
	for name, c := range map[string]struct {
		then    watches
		answers []feed.Item
		version string
		asked   int
		lists   int  // within ten seconds of the question
		later   bool // a list follows within five minutes
	}{
		"silence":                                 {then: watches{idleWatch}, answers: []feed.Item{added("a", "9")}, asked: 1},
		"410":                                     {then: watches{gone, idleWatch}, answers: []feed.Item{added("a", "9")}, asked: 1},
		"silence, and an older state":             {then: watches{idleWatch}, answers: []feed.Item{added("a", "6")}, asked: 1, lists: 1},
		"410, and an older state":                 {then: watches{gone, idleWatch}, answers: []feed.Item{added("a", "6")}, asked: 1, lists: 1},
		"a newer state":                           {then: watches{gone, idleWatch}, answers: []feed.Item{added("a", "12")}, asked: 1, later: true},
		"another object":                          {then: watches{gone, idleWatch}, answers: []feed.Item{added("z", "9")}, asked: 1, later: true},
		"another write":                           {then: watches{gone, idleWatch}, answers: []feed.Item{written("a", "9", 2000)}, asked: 1, lists: 1},
		"another UID":                             {then: watches{gone, idleWatch}, answers: []feed.Item{{Key: "a", UID: "2", ResourceVersion: "9"}}, asked: 1, lists: 1},
		"a regressed server":                      {then: watches{gone, idleWatch}, answers: []feed.Item{none}, version: "8", asked: 1, lists: 1},
		"both absent, without deletions":          {then: watches{gone, idleWatch}, answers: []feed.Item{none}, asked: 2, lists: 1},
		"both absent, with deletions":             {then: watches{gone, deletes("a", "b")}, answers: []feed.Item{none}, asked: 2, later: true},
		"one absent, with its deletion":           {then: watches{gone, deletes("a")}, answers: []feed.Item{none, added("b", "7")}, asked: 2, later: true},
		"one absent, without its deletion":        {then: watches{gone, idleWatch}, answers: []feed.Item{none, added("b", "7")}, asked: 2, lists: 1},
		"one absent, with the deletion of others": {then: watches{gone, deletes("x", "y")}, answers: []feed.Item{none, added("b", "7")}, asked: 2, lists: 1},
	} {
		t.Run(name, func(t *testing.T) {
			source := &answeringSource{objects: c.answers}
			answer := listAt(cmp.Or(c.version, "20"))
			reported := runOverlap(t, 15*time.Second, source, c.then, answer)
			if lists := source.listed - 1 - source.asked; source.asked != c.asked || lists != c.lists {
				t.Errorf("asked %d times, and %d lists follow, want %d and %d; %v", source.asked, lists, c.asked, c.lists, reported)
			}
			source = &answeringSource{objects: c.answers}
			runOverlap(t, 6*time.Minute, source, c.then, answer)
			if lists := source.listed - 1 - source.asked; (lists == 1) != (c.later || c.lists == 1) {
				t.Errorf("%d lists follow within six minutes", lists)
			}
		})
	}
}

// TestSourceThatIgnoresTheSelectorIsAskedOnce breaks three watches of a source whose functions
// overwrite the selector. From the second question on, it is only probed.
func TestSourceThatIgnoresTheSelectorIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		version, asked, opened := 9, 0, 0
		src := &scriptedServer{
			list:   func(metav1.ListOptions) (string, error) { return "5", nil },
			object: added("z", "9"),
			asked:  func(selector string) { asked += min(len(selector), 1) },
			watch: func(ctx context.Context, o metav1.ListOptions, events feed.WatchSink) error {
				if o.ResourceVersion != strconv.Itoa(version) && opened > 0 {
					return apierrors.NewResourceExpired("too old")
				}
				events.Opened()
				openFor(ctx, time.Minute)
				opened++
				version++
				return cmp.Or(events.Event(watch.Added, added(fmt.Sprint(version), strconv.Itoa(version))), io.ErrUnexpectedEOF)
			},
		}
		run(t, 5*time.Minute, New(Config{Source: src, Sink: &deletingSink{}}))
		if asked != 1 || opened < 3 {
			t.Errorf("asked %d times for an object after %d watches, want once", asked, opened)
		}
	})
}

// TestUnansweredQuestionProvesNothing resumes a watch at a server that is silent and does not
// answer: it is asked once, and then probed no more often than without an overlap.
func TestUnansweredQuestionProvesNothing(t *testing.T) {
	var source answeringSource
	reported := runOverlap(t, 50*time.Second, &source, watches{idleWatch}, listError(apierrors.NewServiceUnavailable("")))
	if source.listed != 2 || source.watched != 2 || len(reported) != 1 {
		t.Errorf("%d lists, %d watches and errors %v, want the list, a question, two watches and the broken connection", source.listed, source.watched, reported)
	}
}

// TestWatchAfterAListHasNoOverlap checks that a watch after a list starts at the list's version.
func TestWatchAfterAListHasNoOverlap(t *testing.T) {
	r := New(Config{Source: &scriptedSource{}, Sink: emptySink{}})
	r.proof.history.Received(watch.Added, added("a", "9"), history.Stamp{}, "5", time.Now())
	r.proof.beginList()
	if r.proof.committed(emptyReplacement{}, "9"); r.proof.history.Overlap(time.Now()) != nil {
		t.Error("changes from before a list are repeated")
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
		r.proof.history.Received(watch.Added, added("a", "9"), history.Stamp{}, "5", time.Now())
		if r.beginOverlap() != nil {
			t.Errorf("%s: a resumed watch starts before the last changes", name)
		}
	}
}
