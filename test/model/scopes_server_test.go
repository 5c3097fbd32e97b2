// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"hash/fnv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake"
)

// scopedServer is a server whose requests are in lanes by their scopes. Those of a lane lag and
// fail on their own.
type scopedServer struct {
	scopedCollection
	note  func(format string, arguments ...any)
	lists scopedLists

	mu    sync.Mutex // guards lanes, and that a list takes its own fault
	lanes [lanes]lane
}

// lane is what is wrong with requests.
type lane struct {
	lists, watches int           // the number of requests that fail
	release        chan struct{} // closed when it lags no more; nil if it does not lag
	at             string        // the version at which it lags
	open           []*gatedWatch
}

func laneOf(options metav1.ListOptions) int {
	hash := fnv.New32a()
	hash.Write([]byte(options.LabelSelector + "|" + options.FieldSelector + "|" + options.ShardSelector))
	return int(hash.Sum32() % lanes)
}

// List implements cache.ListerWatcher.
func (s *scopedServer) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.lanes[laneOf(options)]
	s.lists.begin(options)
	s.note("list at %q of %q %q %q, lane %d", options.ResourceVersion, options.LabelSelector, options.FieldSelector, options.ShardSelector, laneOf(options))
	if l.lists > 0 {
		l.lists--
		return nil, fake.InternalError()
	}
	if l.release != nil && options.ResourceVersion != "" && options.Continue == "" {
		if parseVersion(options.ResourceVersion) > parseVersion(l.at) {
			return nil, fake.TooLargeResourceVersion()
		}
		s.InjectListFault(1, fake.Fault{ResourceVersion: toFake(l.at)})
	}
	list, err := s.scopedCollection.List(ctx, options)
	if err == nil {
		s.lists.send(options, list.(*corev1.ConfigMapList))
	}
	return list, err
}

// Watch implements cache.ListerWatcher.
func (s *scopedServer) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := laneOf(options)
	l := &s.lanes[number]
	s.note("watch at %q of %q %q %q, lane %d", options.ResourceVersion, options.LabelSelector, options.FieldSelector, options.ShardSelector, number)
	if l.watches > 0 {
		l.watches--
		return nil, fake.InternalError()
	}
	inner, err := s.scopedCollection.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	w := &gatedWatch{server: s, lane: number, Interface: inner, result: make(chan watch.Event), stopped: make(chan struct{})}
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
	}
}

// catchUp passes on the events of a lane again.
func (s *scopedServer) catchUp(number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := &s.lanes[number]; l.release != nil {
		close(l.release)
		l.release = nil
	}
}

// fail lets requests of a lane fail.
func (s *scopedServer) fail(number, lists, watches int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lanes[number].lists += lists
	s.lanes[number].watches += watches
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
		s.mu.Lock()
		s.lanes[number].lists, s.lanes[number].watches = 0, 0
		s.mu.Unlock()
	}
}

// gatedWatch is a watch whose events wait while its lane lags.
type gatedWatch struct {
	watch.Interface
	server  *scopedServer
	lane    int
	result  chan watch.Event
	stopped chan struct{}
	once    sync.Once
	initial *metav1.ListOptions // of a WatchList whose initial events have not ended
}

// ResultChan implements watch.Interface.
func (w *gatedWatch) ResultChan() <-chan watch.Event { return w.result }

// Stop implements watch.Interface.
func (w *gatedWatch) Stop() {
	w.once.Do(func() { close(w.stopped) })
	w.Interface.Stop()
}

func (w *gatedWatch) run() {
	defer close(w.result)
	for event := range w.Interface.ResultChan() {
		if obj, ok := event.Object.(*corev1.ConfigMap); ok {
			withProgramVersion(obj)
		}
		w.server.mu.Lock()
		release := w.server.lanes[w.lane].release
		w.server.mu.Unlock()
		if release != nil {
			select {
			case <-release:
			case <-w.stopped:
				return
			}
		}
		w.noteInitial(event)
		select {
		case w.result <- event:
		case <-w.stopped:
			return
		}
	}
}

// noteInitial records the end of the initial events of a WatchList.
func (w *gatedWatch) noteInitial(event watch.Event) {
	obj, ok := event.Object.(*corev1.ConfigMap)
	if w.initial == nil || !ok || event.Type != watch.Bookmark {
		return
	}
	if _, ends := obj.Annotations[metav1.InitialEventsAnnotationKey]; ends {
		w.server.lists.send(*w.initial, &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: obj.ResourceVersion}})
		w.initial = nil
	}
}
