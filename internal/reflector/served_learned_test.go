// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/served"
)

// TestResourceLearnedFromARequestIsFollowed runs a reflector whose resource is known after the
// first list, or while the first watch is open. The next watch ends with the verdict, or is not
// requested.
func TestResourceLearnedFromARequestIsFollowed(t *testing.T) {
	notFound := apierrors.NewGenericServerResponse(http.StatusNotFound, "list", schema.GroupResource{}, "", "", 0, true)
	for name, knownAfterWatches := range map[string]int{"after the list": 0, "after the watch": 1} {
		t.Run(name, func(t *testing.T) {
			resource := served.New(nil)
			resource.Set(served.Served, nil)
			source := &scriptedSource{}
			source.lists = lists{listAt("5"), listError(notFound)}
			source.watches = watches{func(ctx context.Context, events feed.WatchSink) error {
				events.Opened()
				resource.Set(served.Gone, served.ErrNotServed)
				if source.watched > 1 || knownAfterWatches == 0 {
					<-ctx.Done()
				}
				return nil
			}}
			cleared := false
			runFor(t, time.Minute, Config{
				Source: source, Store: &clearableSink{cleared: func(error) { cleared = true }, expected: func() {}},
				Served: func() *served.Resource {
					if source.listed == 0 || source.watched < knownAfterWatches {
						return nil
					}
					return resource
				},
			})
			if !cleared || source.listed != 2 || source.watched != 1 {
				t.Errorf("cleared: %t after %d lists and %d watches, want true, 2 and 1", cleared, source.listed, source.watched)
			}
		})
	}
}

// learnedFromAList returns a function that returns a resource once the source was listed.
func learnedFromAList(source *scriptedSource, resource *served.Resource) func() *served.Resource {
	return func() *served.Resource {
		if source.listed == 0 {
			return nil
		}
		return resource
	}
}

// TestUnlistedResourceWithObjectsIsRequested runs a reflector that has listed a resource which
// another server does not list yet, and whose next requests that server answers. It keeps its
// objects.
func TestUnlistedResourceWithObjectsIsRequested(t *testing.T) {
	notFound := apierrors.NewGenericServerResponse(http.StatusNotFound, "list", schema.GroupResource{}, "", "", 0, true)
	resource, source := served.New(served.ErrNotServed), &scriptedSource{}
	resource.Set(served.Unlisted, served.ErrNotServed)
	source.lists = lists{listAt("5"), listError(notFound), listAt("6")}
	source.watches = watches{refusedWith(notFound), idleWatch}
	runFor(t, time.Minute, Config{
		Source: source, Store: failIfCleared(t),
		Served: learnedFromAList(source, resource),
	})
	if source.listed != 3 || source.watched != 2 {
		t.Errorf("%d lists and %d watches, want 3 and 2", source.listed, source.watched)
	}
}

// TestFirstVerdictDoesNotListAgain runs a reflector that learns its resource after the first list,
// before there is a verdict on it. The watch goes on from the version that was reached.
func TestFirstVerdictDoesNotListAgain(t *testing.T) {
	resource, source := served.New(served.ErrNotServed), &scriptedSource{}
	source.lists = lists{listAt("5")}
	source.watches = watches{func(ctx context.Context, events feed.WatchSink) error {
		events.Opened()
		resource.Set(served.Served, nil)
		<-ctx.Done()
		return ctx.Err()
	}}
	runFor(t, time.Minute, Config{
		Source: source, Store: failIfCleared(t),
		Served: learnedFromAList(source, resource),
	})
	if source.listed != 1 || source.watched != 2 {
		t.Errorf("%d lists and %d watches, want 1 and 2", source.listed, source.watched)
	}
}

// TestCleardScopeIsListedBeforeItIsWatched runs a reflector that learns its resource while its
// watch has ended, and whose store another reflector has cleared meanwhile.
func TestCleardScopeIsListedBeforeItIsWatched(t *testing.T) {
	resource, source, store := served.New(served.ErrNotServed), &scriptedSource{}, failIfCleared(t)
	resource.Set(served.Served, nil)
	source.lists = lists{listAt("5")}
	source.watches = watches{func(ctx context.Context, events feed.WatchSink) error {
		events.Opened()
		if source.watched == 1 {
			store.now = false
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	runFor(t, time.Minute, Config{
		Source: source, Store: store,
		Served: func() *served.Resource {
			if store.now || source.listed == 0 {
				return nil
			}
			return resource
		},
	})
	if source.listed != 2 || source.watched != 2 || !store.now {
		t.Errorf("%d lists and %d watches, want 2 and 2", source.listed, source.watched)
	}
}
