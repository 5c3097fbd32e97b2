// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

const (
	// size is the number of states that a History remembers.
	size = 64
	// maxRepeated is the number of versions whose changes a server is asked to repeat. One would be
	// enough to recognize its history. The others find a server that has used some versions again.
	maxRepeated = 8
	// watchWindow is how long a server certainly has a version for watches. The watch cache of
	// kube-apiserver keeps events for at least 75 s.
	watchWindow = 75 * time.Second
)

// state is a state of an object, as it was received.
type state struct {
	key, uid, version string
	stamp             Stamp
	event             watch.EventType // of the event that brought it; empty if a list did
	group             string          // the version at which the server has this event: not older than version
	at                int64           // when the event was received, in Unix nanoseconds
}

// History remembers the newest states that a reflector has received. The zero History is empty. It
// is not safe for concurrent use, but for Inherit.
type History struct {
	// states are at most size states, the newest last. Invariant: those of events follow those of
	// the last list, and are complete groups in the order of their versions.
	states []state
	events int // number of states that events have brought

	// The stream was at base before the oldest group of events, at a time, in Unix nanoseconds, and
	// at beforeLast before the newest.
	base, beforeLast string
	baseAt           int64

	mu        sync.Mutex // guards inherited
	inherited []state    // at most size, the newest last
}

// Inherit adds the newest states of another history, which does not change any more. They count in
// Compare and Has up to the next list; no watch starts before them. It may be called concurrently
// with the other methods.
func (h *History) Inherit(from *History) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inherited = slices.Concat(h.inherited, from.inherited, from.states)
	slices.SortStableFunc(h.inherited, func(a, b state) int {
		switch {
		case feed.IsOlder(a.version, b.version):
			return -1
		case feed.IsOlder(b.version, a.version):
			return 1
		}
		return 0
	})
	h.inherited = slices.Clone(h.inherited[max(0, len(h.inherited)-size):])
}

// any reports whether f does for a state, also for an inherited one.
func (h *History) any(f func(*state) bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, states := range [][]state{h.states, h.inherited} {
		for i := range states {
			if f(&states[i]) {
				return true
			}
		}
	}
	return false
}

// Listed replaces all states by the newest ones of a list, which may be nil.
func (h *History) Listed(list *List) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.states, h.events, h.inherited = h.states[:0], 0, nil
	if list != nil {
		h.states = slices.Grow(h.states, len(list.states))
		for _, listed := range list.states {
			h.states = append(h.states, listed.owned())
		}
	}
}

// Received records an event that was received now. reached is the version that the stream had
// reached before it. A version has a group of events if etcd deletes several objects together, such
// as Events whose leases expire together. A DELETED event may have an older version
// (kubernetes/kubernetes#58545).
func (h *History) Received(event watch.EventType, item feed.Item, stamp Stamp, reached string, now time.Time) {
	received := state{key: item.Key, uid: item.UID, version: item.ResourceVersion, stamp: stamp, event: event, group: item.ResourceVersion, at: now.UnixNano()}
	switch {
	case h.events > 0 && !feed.IsOlder(h.last().group, received.version):
		received.group = h.last().group
	case !feed.IsOlder(reached, received.version):
		return // a watch that starts before it would repeat more than is remembered
	case h.events == 0:
		h.base, h.baseAt, h.beforeLast = reached, received.at, reached
	default:
		h.beforeLast = reached
	}
	if len(h.states) == size {
		h.dropOldest()
	}
	if h.events == 0 && received.group == h.base {
		return // the rest of its group was dropped
	}
	h.states = append(h.states, received)
	h.events++
}

func (h *History) last() *state { return &h.states[len(h.states)-1] }

// dropOldest drops the oldest state, or the whole group if that is one of an event.
func (h *History) dropOldest() {
	n := 1
	if h.events == size {
		for n < size && h.states[n].group == h.states[0].group {
			n++
		}
		h.base, h.baseAt, h.events = h.states[0].group, h.states[0].at, h.events-n
	}
	h.states = slices.Delete(h.states, 0, n)
}

// IsEmpty reports whether no event has been received since the last list.
func (h *History) IsEmpty() bool { return h.events == 0 }

// received returns the states of events, the oldest first.
func (h *History) received() []state { return h.states[len(h.states)-h.events:] }

// EndsInGroup reports whether the stream has reached the version of the last event, and that
// version had several. The server may have more of them.
func (h *History) EndsInGroup(reached string) bool {
	events := h.received()
	n := len(events)
	return n > 1 && events[n-1].group == reached && events[n-2].group == reached
}

// Settle lets no watch start before the events up to a version, at which the stream was at a time.
// They are still compared with lists.
func (h *History) Settle(version string, at time.Time) {
	for h.events > 0 && !feed.IsOlder(version, h.received()[0].group) {
		h.events--
	}
	h.base, h.baseAt = version, at.UnixNano()
}

// Compare returns what a list shows of states that were received before. The list must not be older
// than these.
func (h *History) Compare(list *List) (strongest Evidence) {
	for _, listed := range list.states {
		strongest = max(strongest, h.evidence(listed.state))
	}
	return strongest
}

// Has reports whether an item, with its stamp, is a state that was received before.
func (h *History) Has(item feed.Item, stamp Stamp) bool {
	return stamp.form != unknownForm && h.any(func(s *state) bool {
		return s.version == item.ResourceVersion && s.key == item.Key && s.uid == item.UID && s.event != watch.Deleted && s.stamp == stamp
	})
}

func (h *History) evidence(listed state) (strongest Evidence) {
	h.any(func(s *state) bool {
		switch {
		case s.key != listed.key || s.uid != listed.uid || s.event == watch.Deleted:
		case s.version == listed.version:
			strongest = max(strongest, s.stamp.evidence(listed.stamp))
		case feed.IsOlder(listed.version, s.version):
			strongest = max(strongest, OtherHistory)
		}
		return false
	})
	return strongest
}

// List holds the newest states of a list or of an initial state while it is received.
type List struct {
	states []listedState // at most size, the newest last
}

type listedState struct {
	state
	borrowed bool // its strings are, see feed.Item
}

// owned returns the state with strings in memory of their own.
func (l listedState) owned() state {
	item := feed.Item{Key: l.key, UID: l.uid, ResourceVersion: l.version, Borrowed: l.borrowed}.Owned()
	l.key, l.uid, l.version = item.Key, item.UID, item.ResourceVersion
	return l.state
}

// Add adds an item as it was received, if it is one of the newest. An item whose version is not
// comparable is never one.
func (l *List) Add(item feed.Item) {
	if item.UID == "" || !feed.Reaches(item.ResourceVersion, item.ResourceVersion) {
		return
	}
	full := len(l.states) == size
	if full && !feed.IsOlder(l.states[0].version, item.ResourceVersion) {
		return
	}
	added := listedState{state{key: item.Key, uid: item.UID, version: item.ResourceVersion, stamp: StampOf(item)}, item.Borrowed}
	i, _ := slices.BinarySearchFunc(l.states, added.version, func(s listedState, version string) int {
		if feed.IsOlder(version, s.version) {
			return 1
		}
		return -1
	})
	if full {
		l.states = slices.Delete(l.states, 0, 1)
		i--
	}
	l.states = slices.Insert(l.states, i, added)
}
