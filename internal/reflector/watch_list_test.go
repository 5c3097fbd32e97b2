// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// versionedSource records the resourceVersions of WatchLists.
type versionedSource struct {
	scriptedSource
	watchLists []string
}

func (s *versionedSource) Watch(ctx context.Context, options metav1.ListOptions, events feed.WatchSink) error {
	if options.SendInitialEvents != nil {
		s.watchLists = append(s.watchLists, options.ResourceVersion)
	}
	return s.scriptedSource.Watch(ctx, options, events)
}

// TestWatchListIsNotOlderThanItsBound checks that a WatchList that follows a 410 asks for a state
// that is not older than Config.NotOlderThan, as a list does. The first one is of the most recent
// state in any case.
func TestWatchListIsNotOlderThanItsBound(t *testing.T) {
	stateAt := func(version string, then func(ctx context.Context) error) func(context.Context, feed.WatchSink) error {
		return func(ctx context.Context, events feed.WatchSink) error {
			events.Opened()
			if err := events.Bookmark(version, true); err != nil {
				return err
			}
			return then(ctx)
		}
	}
	gone := func(context.Context) error { return apierrors.NewResourceExpired("too old") }
	idle := func(ctx context.Context) error { <-ctx.Done(); return nil }
	for bound, want := range map[string][]string{"8": {"", "8"}, "5": {"", "5"}, "3": {"", "5"}, "": {"", "5"}} {
		source := &versionedSource{scriptedSource: scriptedSource{watches: watches{stateAt("5", gone), stateAt("9", idle)}}}
		runFor(t, time.Minute, Config{Source: source, WatchList: always(true), NotOlderThan: func() string { return bound }})
		if !slices.Equal(source.watchLists, want) {
			t.Errorf("bound %q: WatchLists at %q, want %q", bound, source.watchLists, want)
		}
	}
}
