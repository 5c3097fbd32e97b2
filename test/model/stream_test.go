// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// stream is an open watch. The server's mutex guards it.
type stream struct {
	server  *server
	replica int
	faults  []fault
	events  chan watch.Event
	closed  bool
	silent  bool // stalls
	late    bool // has not begun to send
	inList  bool // has not sent the whole initial state; a server that sends others then lies
	marks   bool // bookmarks were requested
	count   int  // events sent

	position uint64 // the version that was sent
	timers   []*time.Timer
}

// streamBuffer is more than a program writes while a reader is busy.
const streamBuffer = 600

// newStream opens a watch. If inList is true, the caller sends the initial state.
func newStream(s *server, a arrival, options metav1.ListOptions, inList bool) *stream {
	w := &stream{
		server: s, replica: a.replica, faults: a.faults, events: make(chan watch.Event, streamBuffer), inList: inList,
		marks: options.AllowWatchBookmarks && !hasFault(a.faults, faultNoBookmarks), position: parseVersion(options.ResourceVersion),
	}
	s.streams = append(s.streams, w)
	if options.TimeoutSeconds != nil {
		w.closeIn(time.Duration(*options.TimeoutSeconds) * time.Second)
	}
	if hasFault(a.faults, faultClose45) {
		w.closeIn(45 * time.Second)
	}
	if hasFault(a.faults, faultSilent) && !inList {
		w.beginIn(lateness)
	}
	w.misbehave()
	return w
}

// beginIn lets a stream send nothing for a while.
func (w *stream) beginIn(d time.Duration) {
	w.late = true
	w.timers = append(w.timers, time.AfterFunc(d, func() {
		w.server.mu.Lock()
		defer w.server.mu.Unlock()
		w.late = false
		w.deliver()
	}))
}

func (w *stream) closeIn(d time.Duration) {
	w.timers = append(w.timers, time.AfterFunc(d, func() {
		w.server.mu.Lock()
		defer w.server.mu.Unlock()
		if !w.silent {
			w.close()
		}
	}))
}

// Stop implements watch.Interface.
func (w *stream) Stop() {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	w.close()
}

// ResultChan implements watch.Interface.
func (w *stream) ResultChan() <-chan watch.Event { return w.events }

// close closes the stream. The caller holds the server's mutex.
func (w *stream) close() {
	if w.closed {
		return
	}
	w.closed = true
	close(w.events)
	for _, timer := range w.timers {
		timer.Stop()
	}
	w.server.streams = slices.DeleteFunc(w.server.streams, func(other *stream) bool { return other == w })
}

// discard drops the events that have not been read.
func (w *stream) discard() {
	for len(w.events) > 0 {
		<-w.events
	}
}

// sendState sends the replica's state, and a bookmark at its end if it was requested.
func (w *stream) sendState(end bool) {
	head := w.server.headOf(w.replica)
	objects := w.server.world.present().at(head)
	defer func() { w.inList = false }()
	for _, key := range sortedKeys(objects) {
		w.send(watch.Event{Type: watch.Added, Object: w.server.show(w.replica, objects[key])})
	}
	w.position = head
	w.server.listed(head)
	if end {
		w.send(bookmarkAt(head, map[string]string{metav1.InitialEventsAnnotationKey: "true"}))
	}
}

// deliver sends the changes since the last one that the replica has.
func (w *stream) deliver() {
	if w.late {
		return
	}
	e, head := w.server.world.present(), w.server.headOf(w.replica)
	for _, s := range e.since(w.position) {
		if s.version > head {
			break
		}
		w.position = s.version
		w.send(w.eventOf(e, s))
	}
}

// eventOf returns the event of a state.
func (w *stream) eventOf(e *epoch, s state) watch.Event {
	pod := w.server.show(w.replica, s)
	switch {
	case s.deleted:
		return watch.Event{Type: watch.Deleted, Object: pod}
	case e.created[s.version]:
		return watch.Event{Type: watch.Added, Object: pod}
	}
	return watch.Event{Type: watch.Modified, Object: pod}
}

func (w *stream) bookmark() {
	if head := w.server.headOf(w.replica); w.marks && !w.late && head >= w.position {
		w.position = head
		w.send(bookmarkAt(head, nil))
	}
}

func bookmarkAt(version uint64, annotations map[string]string) watch.Event {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: formatVersion(version), Annotations: annotations}}
	return watch.Event{Type: watch.Bookmark, Object: pod}
}

// send sends an event, unless the stream is closed or stalls.
func (w *stream) send(event watch.Event) {
	if w.closed || w.silent {
		return
	}
	if len(w.events) == cap(w.events) {
		w.close() // as servers do with slow readers
		return
	}
	w.events <- event
	w.count++
	w.misbehave()
}

// misbehave lets the faults begin that are due after the events sent so far.
func (w *stream) misbehave() {
	for _, f := range w.faults {
		if f.After != w.count || w.closed || w.silent {
			continue
		}
		switch f.Kind {
		case faultClose:
			w.close()
		case faultStall:
			w.silent = true
		case faultReplay:
			w.replay(0)
		case faultDuplicate:
			w.replay(-1)
		case faultOldBookmark:
			w.events <- bookmarkAt(w.server.world.start, nil)
		default:
			w.endWith(f.Kind)
		}
	}
}

// endWith sends an event that ends the watch, if the kind of fault is one.
func (w *stream) endWith(kind string) {
	event, ok := streamErrors[kind]
	if !ok {
		return
	}
	if event.Object != nil {
		event.Object = event.Object.DeepCopyObject()
	}
	w.events <- event
	w.close()
}

// replay sends an event of the history again: the first one, or the last one before the position.
func (w *stream) replay(from int) {
	e := w.server.world.present()
	sent := slices.DeleteFunc(slices.Clone(e.log), func(s state) bool { return s.version > w.position })
	if len(sent) == 0 || w.inList || w.position > e.head { // after a restore, it was not sent
		return
	}
	if from < 0 {
		from = len(sent) - 1
	}
	w.events <- w.eventOf(e, sent[from])
}
