// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"weak"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/store"
)

// state is a value that is allocated alone, as it has a pointer.
type state struct{ key string }

// newStateInformer returns an informer that calls a function with each state it decodes.
func newStateInformer(decoded func(feed.Item, *state)) *Informer {
	return New(Config{Store: store.Config{
		Key: func(s any) (string, error) { return s.(*state).key, nil }, ItemKeys: true,
		Identity:    func(any) (string, string) { return "", "" },
		PointerType: reflect.TypeFor[*state](),
		Decode: func(i feed.Item) (any, error) {
			value := &state{key: i.Key}
			decoded(i, value)
			return value, nil
		},
		Report: func(string, error) {},
	}})
}

// A coalesced change keeps two states of its object alive: the last one delivered and the latest.
// Those in between are collected, although the log's entries of a change share an allocation.
func TestBacklogKeepsTwoStatesOfAnObject(t *testing.T) {
	const states = 6
	var values [states]weak.Pointer[state]
	n := 0
	informer := newStateInformer(func(_ feed.Item, value *state) {
		values[n] = weak.Make(value)
		n++
	})
	cursor := informer.log.Cursor()
	h := newHandler(HandlerConfig{Name: "blocked"}, informer)
	for range states {
		informer.feed.Apply(watch.Modified, feed.Item{Key: "a", UID: "uid", ResourceVersion: string(rune('1' + n))})
	}
	cursor.TryNext() // the addition, which was delivered
	for range states - 1 {
		batch, _ := cursor.TryNext()
		h.backlog.add(&batch[0], 0, h.coalesce)
	}
	runtime.GC()
	runtime.GC()
	for i, value := range values {
		if alive, want := value.Value() != nil, i == 0 || i == states-1; alive != want {
			t.Errorf("state %d is alive: %v, want %v", i, alive, want)
		}
	}
	runtime.KeepAlive(h)
	runtime.KeepAlive(informer)
}

// A change that is being delivered keeps the states of no later change alive.
func TestDeliveredChangeKeepsNoLaterStateAlive(t *testing.T) {
	var first weak.Pointer[state] // the first state of b
	informer := newStateInformer(func(i feed.Item, value *state) {
		if i.Key == "b" && i.ResourceVersion == "4" {
			first = weak.Make(value)
		}
	})
	cursor := informer.log.Cursor()
	h := newHandler(HandlerConfig{Name: "blocked"}, informer)
	apply := func(key, version string) []store.Change {
		informer.feed.Apply(watch.Modified, feed.Item{Key: key, UID: "uid-" + key, ResourceVersion: version})
		batch, _ := cursor.TryNext()
		return batch
	}
	apply("a", "1")
	h.backlog.add(&apply("a", "2")[0], 0, h.coalesce)
	h.backlog.add(&apply("a", "3")[0], 0, h.coalesce) // refers to its entry of the backlog from now on
	h.backlog.add(&apply("b", "4")[0], 0, h.coalesce)
	delivering := h.backlog.pop()
	h.backlog.pop()
	apply("b", "5")
	runtime.GC()
	runtime.GC()
	if first.Value() != nil {
		t.Error("a state that was delivered and replaced is alive")
	}
	runtime.KeepAlive(delivering)
	runtime.KeepAlive(h)
	runtime.KeepAlive(informer)
}

// TestIdleHandlerKeepsNoBatch delivers an initial list, after which the handler waits.
func TestIdleHandlerKeepsNoBatch(t *testing.T) {
	var list []string
	for i := range 2 * idleBatchSize {
		list = append(list, fmt.Sprint(i, "=1"))
	}
	var delivered []string
	var handler *Handler
	runInformer(t, list, nil, func(h *harness) {
		handler = h.add(HandlerConfig{Name: "idle", OnEvent: record(&delivered)})
	}, func(h *harness) {
		if len(delivered) != len(list) || cap(handler.batch) > idleBatchSize {
			h.t.Errorf("%d objects are delivered, and the handler has memory for %d changes", len(delivered), cap(handler.batch))
		}
	})
}
