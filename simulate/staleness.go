// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake"
)

// staleness is what processes do not see yet, or not any more.
type staleness struct {
	held map[schema.GroupVersionResource]hold
	past past
	lost map[watchOf]int // the number of next watches that get 410
}

// hold is a time in which the events of a resource are not delivered.
type hold struct {
	until time.Time
	wake  time.Time // when another client writes to the objects of other resources; zero if it has
	gap   bool      // the events are lost
	timer timerState
}

// timerState is what a hold knows of the program's timers.
type timerState int

const (
	ignored timerState = iota // the hold ends at its time
	awaited                   // the hold ends when a timer has fired, and the program is idle again
	fired
)

// past is a time in which a process reads an old state.
type past struct {
	process int // its number
	until   time.Time
	version string
}

// watchOf is the watches of a resource that a process has.
type watchOf struct {
	process  int // its number
	resource schema.GroupVersionResource
}

// wakeDelay is the time from the beginning of a hold to the writes of another client.
const wakeDelay = 500 * time.Millisecond

func newStaleness() staleness {
	return staleness{held: map[schema.GroupVersionResource]hold{}, lost: map[watchOf]int{}}
}

// holds reports whether the events of a resource are held.
func (s *staleness) holds(resource schema.GroupVersionResource) bool {
	_, held := s.held[resource]
	return held
}

// timerFired notes that a timer of the program has fired.
func (s *staleness) timerFired() {
	for resource, h := range s.held {
		if h.timer == awaited && h.wake.IsZero() {
			h.timer = fired
			s.held[resource] = h
		}
	}
}

// endFired ends the holds whose timer has fired, at the present time, and reports whether there are
// any.
func (s *staleness) endFired() bool {
	ended := false
	for resource, h := range s.held {
		if h.timer == fired {
			h.until, ended = time.Now(), true
			s.held[resource] = h
		}
	}
	return ended
}

// heldResources returns the resources whose events are held, in order.
func (s *staleness) heldResources() []schema.GroupVersionResource {
	return slices.SortedFunc(maps.Keys(s.held), compareResources)
}

func compareResources(a, b schema.GroupVersionResource) int {
	return cmp.Compare(a.String(), b.String())
}

// readVersion returns the version that a request of a process reads at, or "" for the newest.
func (s *staleness) readVersion(process int, t target) string {
	if process != s.past.process || t.isWrite() || t.resource.Empty() {
		return ""
	}
	return s.past.version
}

// watchFault returns the fault of a new watch of a process.
func (s *staleness) watchFault(process int, t target) fake.Fault {
	key := watchOf{process: process, resource: t.resource}
	if s.lost[key] > 0 {
		s.lost[key]--
		return fake.Fault{Err: apierrors.NewResourceExpired("too old resource version")}
	}
	return fake.Fault{ResourceVersion: s.readVersion(process, t)}
}

// until returns the time at which the last hold, or the past, ends. It is zero if there is none.
func (s *staleness) until() time.Time {
	latest := s.past.until
	for _, h := range s.held {
		if h.until.After(latest) {
			latest = h.until
		}
	}
	return latest
}

// nextEnd returns the next time at which a hold or the past ends, or a hold wakes the program, at
// most end.
func (s *staleness) nextEnd(end time.Time) time.Time {
	ends := []time.Time{end}
	for _, h := range s.held {
		ends = append(ends, h.until)
		if !h.wake.IsZero() {
			ends = append(ends, h.wake)
		}
	}
	if s.past.process != 0 {
		ends = append(ends, s.past.until)
	}
	return slices.MinFunc(ends, time.Time.Compare)
}
