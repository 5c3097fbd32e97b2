// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"testing"
	"time"

	"github.com/kinformer/kinformer/internal/feed"
)

// TestWatchListIsDecidedOnce checks that Config.WatchList is called once, before the first request,
// also if that request fails.
func TestWatchListIsDecidedOnce(t *testing.T) {
	for name, watchList := range map[string]bool{"WatchList": true, "list": false} {
		t.Run(name, func(t *testing.T) {
			source := &scriptedSource{lists: lists{listAt("5")}}
			for range 5 {
				source.watches = append(source.watches, openedThen(nil))
			}
			source.watches = append(source.watches, idleWatch)
			calls := 0
			runFor(t, time.Minute, Config{Source: source, WatchList: func() bool {
				if calls++; source.listed+source.watched > 0 {
					t.Errorf("WatchList was called after %d requests, want none", source.listed+source.watched)
				}
				return watchList
			}})
			if calls != 1 {
				t.Errorf("WatchList was called %d times, want once", calls)
			}
		})
	}
}

// TestQuietWatchOfAWatchListIsKept checks that the idle timeout of a WatchList's initial state does
// not apply to the watch that follows in the same stream.
func TestQuietWatchOfAWatchListIsKept(t *testing.T) {
	source := &scriptedSource{watches: watches{
		func(ctx context.Context, events feed.WatchSink) error {
			events.Opened()
			if err := events.Bookmark("5", true); err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		},
	}}
	reported := runFor(t, minWatchTimeout-time.Second, Config{Source: source, WatchList: always(true)})
	if len(reported) > 0 || source.watched != 1 {
		t.Errorf("%d watches, reported %v, want one watch and no error", source.watched, reported)
	}
}
