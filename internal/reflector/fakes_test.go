// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/feed"
)

type (
	lists   = []func() (resourceVersion string, err error)
	watches = []func(ctx context.Context, events feed.WatchSink) error
)

// scriptedSource is a source of empty lists and watches. The nth list or watch calls the nth
// function; once these are used up, the last one.
type scriptedSource struct {
	lists   lists
	watches watches

	traits          feed.Traits
	listed, watched int
}

// listedAt5 returns a source whose lists are at version 5.
func listedAt5(watches ...func(context.Context, feed.WatchSink) error) scriptedSource {
	return scriptedSource{lists: lists{listAt("5")}, watches: watches}
}

func (s *scriptedSource) List(context.Context, metav1.ListOptions, func(feed.Item) error) (metav1.ListMeta, error) {
	list := s.lists[min(s.listed, len(s.lists)-1)]
	s.listed++
	version, err := list()
	return metav1.ListMeta{ResourceVersion: version}, err
}

func (s *scriptedSource) Watch(ctx context.Context, _ metav1.ListOptions, events feed.WatchSink) error {
	watch := s.watches[min(s.watched, len(s.watches)-1)]
	s.watched++
	return watch(ctx, events)
}

// Traits implements feed.Source.
func (s *scriptedSource) Traits() feed.Traits { return s.traits }

// listAt returns a list at a resourceVersion.
func listAt(version string) func() (string, error) {
	return func() (string, error) { return version, nil }
}

// listError returns a list that fails.
func listError(err error) func() (string, error) {
	return func() (string, error) { return "", err }
}

// idleWatch receives nothing until its context ends. Then it returns nil, as if the server had
// closed it.
func idleWatch(ctx context.Context, events feed.WatchSink) error {
	events.Opened()
	<-ctx.Done()
	return nil
}

// openFor waits until a time has passed or the context of a watch has ended.
func openFor(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// openedThen returns a watch that opens and ends with err at once.
func openedThen(err error) func(context.Context, feed.WatchSink) error {
	return func(_ context.Context, events feed.WatchSink) error {
		events.Opened()
		return err
	}
}

// refusedWith returns a watch that the server does not accept.
func refusedWith(err error) func(context.Context, feed.WatchSink) error {
	return func(context.Context, feed.WatchSink) error { return err }
}

// always returns a function that returns value.
func always(value bool) func() bool { return func() bool { return value } }

// emptySink accepts lists and drops their items.
type emptySink struct{ feed.Sink }

func (emptySink) Begin() feed.Replacement { return emptyReplacement{} }
func (emptySink) AdvanceVersion(string)   {}
func (emptySink) Quarantined() int        { return 0 }
func (emptySink) NeedsList() bool         { return false }

type emptyReplacement struct{ feed.Replacement }

func (emptyReplacement) Needs(feed.Item) (feed.Need, any) { return feed.NeedsIdentity, nil }
func (emptyReplacement) Add(feed.Item)                    {}
func (emptyReplacement) CompareContents(bool)             {}
func (emptyReplacement) Commit(string) error              { return nil }
func (emptyReplacement) Differs(string, bool) bool        { return false }

// clearableSink accepts empty lists, and is the store that they are in.
type clearableSink struct {
	emptySink

	ever, now bool            // see Clearable
	cleared   func(why error) // called by Clear
	expected  func()          // called by Expect after Clear
}

func (s *clearableSink) Begin() feed.Replacement { return clearableReplacement{sink: s} }

func (s *clearableSink) NeedsList() bool { return s.ever && !s.now }

func (s *clearableSink) Listed() (ever, now bool) { return s.ever, s.now }

func (s *clearableSink) Clear(ctx context.Context, why error, confirmed bool) bool {
	if ctx.Err() != nil || s.now && !confirmed {
		return false
	}
	s.now = false
	s.cleared(why)
	return true
}

func (s *clearableSink) Expect(error) {
	if s.ever && !s.now {
		s.expected()
	}
}

type clearableReplacement struct {
	emptyReplacement

	sink *clearableSink
}

func (r clearableReplacement) Commit(string) error {
	r.sink.ever, r.sink.now = true, true
	return nil
}

// failIfCleared returns a sink that must not be cleared.
func failIfCleared(t *testing.T) *clearableSink {
	t.Helper()
	return &clearableSink{cleared: func(error) { t.Error("cleared") }, expected: func() {}}
}

// runFor runs a reflector with an empty sink for d of fake time. It returns the reported errors.
func runFor(t *testing.T, d time.Duration, config Config) (reported []error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		config.Sink = emptySink{}
		if config.Store != nil {
			config.Sink = config.Store.(*clearableSink)
		}
		config.Backoff = withoutJitter()
		config.Report = func(_ context.Context, err error) { reported = append(reported, err) }
		run(t, d, New(config))
	})
	return reported
}

// run runs a reflector for d of a bubble's time.
func run(t *testing.T, d time.Duration, r *Reflector) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := r.Run(ctx); err != nil {
		t.Errorf("Run returned %v, want nil", err)
	}
}
