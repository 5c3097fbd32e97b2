// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"cmp"
	"context"
	"io"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// proving is a run of a reflector whose server lists at version 5, and then at 100000 or listedAt.
// The first watch brings the changes that the next ones must prove.
type proving struct {
	reflector *Reflector
	sink      provingSink
	lists     int
	listedAt  string
	questions []string // their field selectors
	watches   []string // their versions

	change  func(events feed.WatchSink) error // the first watch; like the others if nil
	expires bool                              // the second watch is refused with 410
	answer  func(ctx context.Context, selector string) (feed.Item, string, error)
	watch   func(ctx context.Context, n int, from string, events feed.WatchSink) error // n counts from 1
}

// provingSink is a sink that has all versions.
type provingSink struct {
	deletingSink

	unread int
}

func (s *provingSink) CountUnreadable(error) { s.unread++ }

func (*provingSink) AdvanceVersion(string) {}

func (*provingSink) HasVersion(feed.Item) bool { return true }

// run runs the reflector in a bubble.
func (p *proving) run(t *testing.T, d time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p.reflector = New(Config{Sink: &p.sink, Source: &scriptedServer{
			list: func(metav1.ListOptions) (string, error) {
				p.lists++
				if p.lists == 1 {
					return "5", nil
				}
				return cmp.Or(p.listedAt, "100000"), nil
			},
			answer: func(ctx context.Context, selector string) (feed.Item, string, error) {
				if selector == "" { // a probe
					return feed.Item{}, "100000", nil
				}
				p.questions = append(p.questions, selector)
				return p.answer(ctx, selector)
			},
			watch: func(ctx context.Context, options metav1.ListOptions, events feed.WatchSink) error {
				p.watches = append(p.watches, options.ResourceVersion)
				switch n := len(p.watches); {
				case n == 1 && p.change != nil:
					return p.change(events)
				case n == 2 && p.expires:
					return apierrors.NewResourceExpired("too old")
				default:
					return p.watch(ctx, n, options.ResourceVersion, events)
				}
			},
		}})
		run(t, d, p.reflector)
	})
}

// changeA is a watch that brings a change of a, and breaks.
func changeA(events feed.WatchSink) error {
	events.Opened()
	return cmp.Or(events.Event(watch.Modified, added("a", "9")), io.ErrUnexpectedEOF)
}

// deleteB is changeA with a deletion of b after it.
func deleteB(events feed.WatchSink) error {
	events.Opened()
	return cmp.Or(events.Event(watch.Modified, added("a", "9")), events.Event(watch.Deleted, added("b", "10")), io.ErrUnexpectedEOF)
}

func answerA(context.Context, string) (feed.Item, string, error) { return added("a", "9"), "100", nil }

// idleFor is a watch that is open for a while and brings nothing.
func idleFor(ctx context.Context, events feed.WatchSink, d time.Duration) error {
	events.Opened()
	openFor(ctx, d)
	return nil
}

// TestDeletionsOfOneVersionAreAppliedOnceProved deletes three objects together in a watch whose
// history was proved, by an answer or by repetition.
func TestDeletionsOfOneVersionAreAppliedOnceProved(t *testing.T) {
	for name, isExpired := range map[string]bool{"by an answer": true, "by repetition": false} {
		t.Run(name, func(t *testing.T) {
			p := &proving{change: changeA, expires: isExpired, answer: answerA}
			p.watch = func(ctx context.Context, _ int, from string, events feed.WatchSink) error {
				events.Opened()
				if from == "5" {
					if err := events.Event(watch.Modified, added("a", "9")); err != nil {
						return err
					}
				}
				openFor(ctx, 20*time.Second)
				for _, key := range []string{"b", "c", "d"} {
					if err := events.Event(watch.Deleted, added(key, "200")); err != nil {
						return err
					}
				}
				<-ctx.Done()
				return nil
			}
			if p.run(t, time.Minute); len(p.sink.deleted) != 4 || p.lists != 1 {
				t.Errorf("%d lists, and applied %q, want a, b, c and d", p.lists, p.sink.deleted)
			}
		})
	}
}

// TestInterruptedQuestionIsAskedAgain breaks the watch while the server is asked. It was restored,
// and lacks the change.
func TestInterruptedQuestionIsAskedAgain(t *testing.T) {
	for name, answer := range map[string]func(ctx context.Context, n int) (feed.Item, string, error){
		"no answer yet": func(ctx context.Context, n int) (feed.Item, string, error) {
			if n == 1 {
				<-ctx.Done()
				return feed.Item{}, "", ctx.Err()
			}
			return added("a", "6"), "100", nil
		},
		"the deletion may follow": func(context.Context, int) (feed.Item, string, error) { return feed.Item{}, "100", nil },
	} {
		t.Run(name, func(t *testing.T) {
			p := &proving{change: changeA, expires: true}
			p.answer = func(ctx context.Context, _ string) (feed.Item, string, error) { return answer(ctx, len(p.questions)) }
			p.watch = func(ctx context.Context, n int, _ string, events feed.WatchSink) error {
				if n == 3 {
					return cmp.Or(idleFor(ctx, events, 3*time.Second), io.ErrUnexpectedEOF)
				}
				return idleFor(ctx, events, time.Hour)
			}
			if p.run(t, 30*time.Second); p.lists != 2 {
				t.Errorf("%d lists, want a second one once the answer refutes the history", p.lists)
			}
		})
	}
}

// TestDeletionsAreProvedByAbsence resumes a watch after a deletion, at a server that sends nothing,
// or is late. It is asked for the newest change that is no deletion, and then for the deleted
// object.
func TestDeletionsAreProvedByAbsence(t *testing.T) {
	for name, c := range map[string]struct {
		deleted   feed.Item // as the server has it
		questions int
		lists     int
	}{
		"absent":                {feed.Item{}, 2, 1},
		"recreated":             {feed.Item{Key: "b", UID: "2", ResourceVersion: "50"}, 2, 1},
		"it left the selection": {added("b", "10"), 2, 1},
		"written since":         {added("b", "12"), 2, 1},
		"never deleted":         {added("b", "4"), 2, 2},
	} {
		for silence, late := range map[string]time.Duration{"late by 8 s": 8 * time.Second, "silent": time.Hour} {
			t.Run(name+"/"+silence, func(t *testing.T) {
				p := &proving{change: deleteB}
				p.answer = func(ctx context.Context, selector string) (feed.Item, string, error) {
					if selector == "metadata.name=b" {
						return c.deleted, "100", nil
					}
					return answerA(ctx, selector)
				}
				p.watch = func(ctx context.Context, _ int, from string, events feed.WatchSink) error {
					if err := idleFor(ctx, events, late); err != nil || ctx.Err() != nil {
						return err
					}
					reached, _ := strconv.Atoi(from)
					for _, e := range []struct {
						version   int
						eventType watch.EventType
						key       string
					}{{9, watch.Modified, "a"}, {10, watch.Deleted, "b"}, {200_000, watch.Added, "new"}} {
						if e.version > reached {
							if err := events.Event(e.eventType, added(e.key, strconv.Itoa(e.version))); err != nil {
								return err
							}
						}
					}
					<-ctx.Done()
					return nil
				}
				p.run(t, 4*time.Minute)
				if len(p.questions) != c.questions || p.lists != c.lists || len(p.watches) > 4 {
					t.Errorf("questions %q, %d lists and watches from %q, want %d questions and %d lists", p.questions, p.lists, p.watches, c.questions, c.lists)
				}
				if applied := p.sink.deleted; late < time.Minute && applied[len(applied)-1] != "new" {
					t.Errorf("applied %q, want the last one to be new", applied)
				}
			})
		}
	}
}

// TestEventDuringAQuestionIsNoRegression delivers an event while an answer is on its way.
func TestEventDuringAQuestionIsNoRegression(t *testing.T) {
	var asked atomic.Bool
	p := &proving{change: changeA, expires: true, answer: func(context.Context, string) (feed.Item, string, error) {
		asked.Store(true)
		<-time.After(2 * time.Second)
		return added("a", "9"), "100", nil
	}}
	p.watch = func(ctx context.Context, _ int, _ string, events feed.WatchSink) error {
		events.Opened()
		for !asked.Load() && ctx.Err() == nil {
			<-time.After(100 * time.Millisecond)
		}
		if err := events.Event(watch.Modified, added("c", "101")); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
	if p.run(t, time.Minute); p.lists != 1 {
		t.Errorf("%d lists, want one", p.lists)
	}
}

// TestServerThatRefusesTheStartIsAsked resumes watches at a server that refuses each start before
// the last changes. Later, it is restored.
func TestServerThatRefusesTheStartIsAsked(t *testing.T) {
	p := &proving{change: changeA}
	version, restored := 9, false
	p.answer = func(context.Context, string) (feed.Item, string, error) {
		if restored {
			return added("a", "6"), "1000", nil
		}
		return added("a", strconv.Itoa(version)), "1000", nil
	}
	p.watch = func(ctx context.Context, _ int, from string, events feed.WatchSink) error {
		switch {
		case from != strconv.Itoa(version) && p.lists == 1:
			return apierrors.NewServiceUnavailable("")
		case restored:
			return idleFor(ctx, events, time.Hour)
		}
		events.Opened()
		openFor(ctx, askInterval+time.Second)
		version++
		restored = version == 13
		return cmp.Or(events.Event(watch.Modified, added("a", strconv.Itoa(version))), io.ErrUnexpectedEOF)
	}
	p.run(t, 30*time.Minute)
	if len(p.questions) != 5 || p.lists != 2 {
		t.Errorf("%d questions and %d lists, want one for each of five watches, and a list after the restore; watches from %q", len(p.questions), p.lists, p.watches)
	}
}

// TestListIsDueUntilItsCauseIsProved schedules a list because an answer has proved nothing. A later
// change is repeated, and not those that the answer was about.
func TestListIsDueUntilItsCauseIsProved(t *testing.T) {
	p := &proving{change: changeA, expires: true, answer: func(context.Context, string) (feed.Item, string, error) { return added("a", "15"), "100", nil }}
	p.watch = func(ctx context.Context, n int, from string, events feed.WatchSink) error {
		if n == 3 {
			return cmp.Or(idleFor(ctx, events, 10*time.Second), events.Event(watch.Modified, added("c", "20")), io.ErrUnexpectedEOF)
		}
		events.Opened()
		if from == "9" {
			if err := events.Event(watch.Modified, added("c", "20")); err != nil {
				return err
			}
		}
		openFor(ctx, time.Hour)
		return nil
	}
	if p.run(t, 6*time.Minute); p.lists != 2 {
		t.Errorf("%d lists, want one within five minutes; watches from %q", p.lists, p.watches)
	}
}

// TestListIsDueWhileAWatchIsOpening lets a list become due while the server is slow to open
// watches.
func TestListIsDueWhileAWatchIsOpening(t *testing.T) {
	p := &proving{answer: answerA}
	p.change = func(events feed.WatchSink) error {
		p.reflector.ConfirmHistory()
		return changeA(events)
	}
	p.watch = func(ctx context.Context, n int, _ string, events feed.WatchSink) error {
		openFor(ctx, 3*time.Second)
		if n == 2 {
			openFor(ctx, 6*time.Minute)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return idleFor(ctx, events, time.Hour)
	}
	if p.run(t, 10*time.Minute); p.lists != 2 || len(p.watches) > 4 {
		t.Errorf("%d lists and %d watches, want two lists", p.lists, len(p.watches))
	}
}

// TestContentsAreTrustedTwice resumes watches at two servers, at random, that show a label of their
// own on objects without managedFields.
func TestContentsAreTrustedTwice(t *testing.T) {
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 0))
		version := 5
		p := &proving{answer: func(context.Context, string) (feed.Item, string, error) { return feed.Item{}, "", io.ErrUnexpectedEOF }}
		p.watch = func(ctx context.Context, _ int, from string, events feed.WatchSink) error {
			server := random.IntN(2)
			change := func(version int) error {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"server": strconv.Itoa(server)}}}
				return events.Event(watch.Modified, feed.Item{Key: "a", UID: "1", ResourceVersion: strconv.Itoa(version), Object: pod, Received: pod})
			}
			events.Opened()
			reached, _ := strconv.Atoi(from)
			for v := reached + 1; v <= version; v++ {
				if err := change(v); err != nil {
					return err
				}
			}
			openFor(ctx, 3*time.Minute)
			if err := ctx.Err(); err != nil {
				return err
			}
			version++
			p.listedAt = strconv.Itoa(version)
			return cmp.Or(change(version), io.ErrUnexpectedEOF)
		}
		if p.run(t, 3*time.Hour); p.lists > 1+maxFalseAlarms {
			t.Errorf("seed %d: %d lists in three hours", seed, p.lists)
		}
	}
}

// TestUnreadableDeletionAtTheVersionReachedIsFollowedByAList sends a proved watch a deletion that
// cannot be read and has the version of the object's last update (kubernetes/kubernetes#58545).
func TestUnreadableDeletionAtTheVersionReachedIsFollowedByAList(t *testing.T) {
	p := &proving{change: changeA, answer: answerA}
	p.watch = func(ctx context.Context, n int, _ string, events feed.WatchSink) error {
		events.Opened()
		if n == 2 {
			openFor(ctx, 20*time.Second) // the server repeats nothing, and is asked
			if err := events.Unreadable(watch.Deleted, feed.Item{ResourceVersion: "4", Codec: feed.ErrorCodec{Err: feed.ErrNoName}}); err != nil {
				return err
			}
			openFor(ctx, time.Second)
			return nil
		}
		<-ctx.Done()
		return nil
	}
	if p.run(t, 3*time.Minute); p.lists != 2 || p.sink.unread != 1 {
		t.Errorf("%d lists, want 2; %d unreadable events", p.lists, p.sink.unread)
	}
}
