// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

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
