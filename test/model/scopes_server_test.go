// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// scopedServer is a server whose requests are in lanes by their scopes. Those of a lane lag and
// fail on their own.
type scopedServer struct {
	scopedCollection
	note     func(format string, arguments ...any)
	lists    scopedLists
	requests scopedRequests
	lagging  atomic.Int32 // the number of lanes that lag

	mu           sync.Mutex // guards the fields below, and that a list takes its own fault
	lanes        [lanes]lane
	healed       chan struct{} // closed by heal; late answers then break
	availability availability
}

// lane is what is wrong with requests.
type lane struct {
	lists, watches scopedFault
	release        chan struct{} // closed when it lags no more; nil if it does not lag
	at             string        // the version at which it lags
	open           []*gatedWatch
	absent         bool // it does not serve the resource
}

// scopedFault is what is wrong with the next requests.
type scopedFault struct {
	kind string // of requestErrors, or faultLate
	n    int    // the number of requests
}

// take returns the kind of the fault of a request, or "".
func (f *scopedFault) take() string {
	if f.n == 0 {
		return ""
	}
	f.n--
	return f.kind
}

func laneOf(options metav1.ListOptions) int {
	hash := fnv.New32a()
	hash.Write([]byte(options.LabelSelector + "|" + options.FieldSelector + "|" + options.ShardSelector))
	return int(hash.Sum32() % lanes)
}

// List implements cache.ListerWatcher.
func (s *scopedServer) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	fault, healed := s.lanes[laneOf(options)].lists.take(), s.healed
	list, err := s.list(ctx, options, fault)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if fault == faultLate {
		select {
		case <-time.After(slowness):
		case <-healed:
			return nil, cachetest.ErrConnectionReset
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.lists.send(options, list.(*corev1.ConfigMapList))
	return list, nil
}

// list reads a list. The caller holds mu.
func (s *scopedServer) list(ctx context.Context, options metav1.ListOptions, fault string) (runtime.Object, error) {
	l := &s.lanes[laneOf(options)]
	s.lists.begin(options)
	s.requests.all.Add(1)
	s.note("list at %q of %q %q %q, lane %d %s", options.ResourceVersion, options.LabelSelector, options.FieldSelector, options.ShardSelector, laneOf(options), fault)
	if err := s.refuse(options, fault); err != nil {
		return nil, err
	}
	if l.release != nil && options.ResourceVersion != "" && options.Continue == "" {
		if parseVersion(options.ResourceVersion) > parseVersion(l.at) {
			return nil, fake.TooLargeResourceVersion()
		}
		s.InjectListFault(1, fake.Fault{ResourceVersion: toFake(l.at)})
	}
	return s.scopedCollection.List(ctx, options)
}

// Watch implements cache.ListerWatcher.
func (s *scopedServer) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := laneOf(options)
	l := &s.lanes[number]
	s.requests.all.Add(1)
	s.note("watch at %q of %q %q %q, lane %d", options.ResourceVersion, options.LabelSelector, options.FieldSelector, options.ShardSelector, number)
	if err := s.refuse(options, l.watches.take()); err != nil {
		return nil, err
	}
	inner, err := s.scopedCollection.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	w := &gatedWatch{server: s, lane: number, Interface: inner, result: make(chan watch.Event), stopped: make(chan struct{}), faults: make(chan string, 1)}
	l.open = append(l.open, w)
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		s.lists.begin(options)
		w.initial = &options
	} else {
		s.lists.follow(options)
	}
	go w.run()
	return w, nil
}

// lag withholds the events of a lane.
func (s *scopedServer) lag(number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := &s.lanes[number]; l.release == nil {
		l.release, l.at = make(chan struct{}), s.ResourceVersion()
		s.lagging.Add(1)
	}
}

// catchUp passes on the events of a lane again.
func (s *scopedServer) catchUp(number int) {
	defer s.closeAbsent()
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := &s.lanes[number]; l.release != nil {
		close(l.release)
		l.release, l.absent = nil, s.availability.absent
		s.lagging.Add(-1)
	}
}

// failLists lets the next lists of a lane fail, or arrive late.
func (s *scopedServer) failLists(number int, f scopedFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lanes[number].lists = f
}

// failWatches lets the next watches of a lane fail.
func (s *scopedServer) failWatches(number int, f scopedFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lanes[number].watches = f
}

// misbehave lets the open watches of a lane send something that no healthy server sends.
func (s *scopedServer) misbehave(number int, kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.lanes[number].open {
		select {
		case w.faults <- kind:
		default:
		}
	}
}

// closeLane closes the watches of a lane.
func (s *scopedServer) closeLane(number int) {
	s.mu.Lock()
	open := s.lanes[number].open
	s.lanes[number].open = nil
	s.mu.Unlock()
	for _, w := range open {
		w.Stop()
	}
}

// heal ends all faults.
func (s *scopedServer) heal() {
	for number := range lanes {
		s.catchUp(number)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for number := range lanes {
		s.lanes[number].lists, s.lanes[number].watches = scopedFault{}, scopedFault{}
	}
	close(s.healed)
	s.healed = make(chan struct{})
}
