// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"slices"
	"strconv"
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
	gap   bool // the events are lost
}

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

func newStaleness() staleness {
	return staleness{held: map[schema.GroupVersionResource]hold{}, lost: map[watchOf]int{}}
}

// holds reports whether the events of a resource are held.
func (s *staleness) holds(resource schema.GroupVersionResource) bool {
	_, held := s.held[resource]
	return held
}

// readVersion returns the version that a request reads at, or "" for the newest.
func (s *staleness) readVersion(q *request) string {
	if q.process.number != s.past.process || q.target.isWrite() || q.target.resource.Empty() {
		return ""
	}
	return s.past.version
}

// watchFault returns the fault of a new watch.
func (s *staleness) watchFault(q *request) fake.RequestFault {
	key := watchOf{process: q.process.number, resource: q.target.resource}
	if s.lost[key] > 0 {
		s.lost[key]--
		return fake.RequestFault{Err: apierrors.NewResourceExpired("too old resource version")}
	}
	return fake.RequestFault{ResourceVersion: s.readVersion(q)}
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

// nextEnd returns the next time at which a hold or the past ends, at most end.
func (s *scheduler) nextEnd(end time.Time) time.Time {
	ends := []time.Time{end}
	for _, h := range s.staleness.held {
		ends = append(ends, h.until)
	}
	if s.staleness.past.process != 0 {
		ends = append(ends, s.staleness.past.until)
	}
	return slices.MinFunc(ends, time.Time.Compare)
}

// endStaleness delivers or loses the events of holds whose time has come, and ends the past.
func (s *scheduler) endStaleness() {
	for resource, h := range s.staleness.held {
		if time.Now().Before(h.until) {
			continue
		}
		delete(s.staleness.held, resource)
		s.rest.lastChange = time.Now() // what is at rest so far may act on the events
		if !h.gap {
			s.record.note("", "the events of "+resource.Resource+" are delivered")
			continue
		}
		s.record.note("", strconv.Itoa(s.loseEvents(resource))+" events of "+resource.Resource+" are lost")
	}
	if s.staleness.past.process != 0 && !time.Now().Before(s.staleness.past.until) {
		s.staleness.past = past{}
		s.rest.lastChange = time.Now()
		s.endWatches(func(w *watchStream) bool { return w.inPast })
	}
}

// loseEvents ends the watches of a resource that have events, and returns their number. Clients
// that resume the watches get 410.
func (s *scheduler) loseEvents(resource schema.GroupVersionResource) int {
	lost := 0
	s.endWatches(func(w *watchStream) bool {
		if w.target.resource != resource || len(w.frames) == 0 {
			return false
		}
		s.staleness.lost[watchOf{process: w.process.number, resource: resource}]++
		lost += len(w.frames)
		w.frames = nil
		return true
	})
	return lost
}

// endWatches ends the watches that a function selects, after the events that they have.
func (s *scheduler) endWatches(selected func(*watchStream) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		if selected(w) {
			w.ended, w.round = true, s.round
			w.cancel()
		}
	}
}
