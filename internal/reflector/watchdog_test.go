// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/feed"
)

// TestWatchdogErrorTakesPrecedence checks that the watchdog's error is the error of the watch, even
// if the source returns nil when its context is cancelled.
func TestWatchdogErrorTakesPrecedence(t *testing.T) {
	for name, c := range map[string]struct {
		lists lists
		want  error
	}{
		"stalled":   {lists{listAt("5")}, ErrStalled},
		"regressed": {lists{listAt("5"), listAt("3")}, ErrVersionRegressed}, // the second is a probe
	} {
		t.Run(name, func(t *testing.T) {
			source := &scriptedSource{lists: c.lists, watches: watches{idleWatch}}
			reported := runFor(t, 30*time.Minute, Config{Source: source})
			for _, err := range reported {
				if errors.Is(err, c.want) {
					return
				}
			}
			t.Errorf("reported %v, want %v", reported, c.want)
		})
	}
}

// countingClock counts the timers of a reflector.
type countingClock struct {
	clock.RealClock
	timers atomic.Int32
}

// NewTimer implements clock.Clock.
func (c *countingClock) NewTimer(d time.Duration) clock.Timer {
	c.timers.Add(1)
	return c.RealClock.NewTimer(d)
}

// TestIdleWatchWakesUpRarely counts the timers of an hour, in which the server sends a bookmark
// every minute: those of a hundred watches must not wake a process up more than once a second.
func TestIdleWatchWakesUpRarely(t *testing.T) {
	counting := &countingClock{}
	source := listedAt5(func(ctx context.Context, events feed.WatchSink) error {
		events.Opened()
		for ctx.Err() == nil {
			if err := events.Bookmark("5", false); err != nil {
				return err
			}
			openFor(ctx, time.Minute)
		}
		return nil
	})
	if reported := runFor(t, time.Hour, Config{Source: &source, Clock: counting}); len(reported) > 0 {
		t.Errorf("reported %v", reported)
	}
	if timers := counting.timers.Load(); timers == 0 || timers > 40 {
		t.Errorf("%d timers in an hour", timers)
	}
}

// TestWatchOfAFakeIsNotGivenUp checks that a silent watch of a fake of client-go stays open, also
// if the source is known to be a fake only once the watch is open.
func TestWatchOfAFakeIsNotGivenUp(t *testing.T) {
	for name, declared := range map[string]bool{"declared": true, "known by its watch": false} {
		t.Run(name, func(t *testing.T) {
			source := &lateFake{scriptedSource: listedAt5(), declared: declared}
			source.watches = watches{func(ctx context.Context, events feed.WatchSink) error {
				source.known.Store(true)
				return idleWatch(ctx, events)
			}}
			reported := runFor(t, 24*time.Hour, Config{Source: source})
			if len(reported) > 0 || source.watched != 1 {
				t.Errorf("%d watches, reported %v, want one watch and no error", source.watched, reported)
			}
		})
	}
}

// lateFake is a fake of client-go that is known by its watch, if it does not declare itself. The
// watchdog reads its traits meanwhile.
type lateFake struct {
	scriptedSource
	declared bool
	known    atomic.Bool
}

func (s *lateFake) Traits() feed.Traits {
	known := s.known.Load()
	return feed.Traits{Fake: s.declared || known, Unversioned: known}
}
