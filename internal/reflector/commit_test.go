// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// versionSink records the resourceVersion that the reflector has reached when the sink is called,
// and whether it has synced.
type versionSink struct {
	emptySink
	reflector *Reflector
	calls     []string
}

func (s *versionSink) record(call string) {
	synced := ""
	select {
	case <-s.reflector.Synced():
		synced = ", synced"
	default:
	}
	s.calls = append(s.calls, fmt.Sprintf("%s at %q%s", call, s.reflector.LastSyncResourceVersion(), synced))
}

func (s *versionSink) Begin() feed.Replacement { return versionReplacement{emptyReplacement{}, s} }

func (s *versionSink) Apply(watch.EventType, feed.Item) feed.Outcome {
	s.record("Apply")
	return feed.Applied
}

func (s *versionSink) AdvanceVersion(string) { s.record("AdvanceVersion") }

type versionReplacement struct {
	emptyReplacement
	sink *versionSink
}

func (r versionReplacement) Commit(string) error {
	r.sink.record("Commit")
	return nil
}

// TestVersionAdvancesAfterTheSink checks that the resourceVersion from which a watch is resumed,
// and Synced, follow the sink: what the sink has not seen is requested again if the sink panics.
func TestVersionAdvancesAfterTheSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		source := &scriptedSource{
			lists: lists{listAt("5")},
			watches: watches{func(_ context.Context, events feed.WatchSink) error {
				defer cancel()
				events.Opened()
				_ = events.Event(watch.Added, feed.Item{Key: "a", ResourceVersion: "6"})
				return events.Bookmark("7", false)
			}},
		}
		sink := &versionSink{}
		sink.reflector = New(Config{Source: source, Sink: sink})
		if err := sink.reflector.Run(ctx); err != nil {
			t.Error(err)
		}
		want := []string{`Commit at ""`, `Apply at "5", synced`, `AdvanceVersion at "6", synced`}
		if !slices.Equal(sink.calls, want) || sink.reflector.LastSyncResourceVersion() != "7" {
			t.Errorf("%q, then at %s; want %q, then at 7", sink.calls, sink.reflector.LastSyncResourceVersion(), want)
		}
	})
}

// objectSource lists objects at version 5, in more than one batch.
type objectSource struct {
	scriptedSource
	objects int
}

func (s *objectSource) List(_ context.Context, _ metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	raw := bytes.Repeat([]byte(" "), 1000)
	for i := range s.objects {
		if err := add(feed.Item{Key: fmt.Sprint(i), Raw: raw, Codec: nameCodec{}}); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	return metav1.ListMeta{ResourceVersion: "5"}, nil
}

// countingSink records how many objects each committed list has. add is called for each object.
type countingSink struct {
	emptySink
	add       func()
	committed []int
}

func (s *countingSink) Begin() feed.Replacement { return &countingReplacement{sink: s} }

type countingReplacement struct {
	emptyReplacement
	sink  *countingSink
	added int
}

func (*countingReplacement) Needs(feed.Item) (feed.Need, any) { return feed.NeedsObject, nil }

func (r *countingReplacement) Add(feed.Item) {
	r.sink.add()
	r.added++
}

func (r *countingReplacement) Commit(string) error {
	r.sink.committed = append(r.sink.committed, r.added)
	return nil
}

// TestListIsCommittedOnceItsLastObjectIsAdded checks that the objects of the last batches, which
// are decoded and added by other goroutines, are part of the list.
func TestListIsCommittedOnceItsLastObjectIsAdded(t *testing.T) {
	for _, objects := range []int{3, 1000} {
		sink := &countingSink{add: func() {}}
		r := New(Config{Source: &objectSource{objects: objects}, Sink: sink})
		if err := r.list(t.Context()); err != nil || !slices.Equal(sink.committed, []int{objects}) {
			t.Errorf("a list of %d objects is committed with %v: %v", objects, sink.committed, err)
		}
	}
}

// TestListThatFailsToAddAnObjectIsNotCommitted checks that a list fails if the sink ends the
// goroutine that adds an object, as a function of the program may do by runtime.Goexit.
func TestListThatFailsToAddAnObjectIsNotCommitted(t *testing.T) {
	sink := &countingSink{add: runtime.Goexit}
	r := New(Config{Source: &objectSource{objects: 1000}, Sink: sink})
	if err := r.list(t.Context()); err == nil || len(sink.committed) > 0 {
		t.Errorf("committed with %d objects, error %v", sink.committed, err)
	}
}
