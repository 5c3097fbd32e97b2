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
	server *server
	faults []fault
	events chan watch.Event
	closed bool
	silent bool // stalls
	inList bool // has not sent the whole initial state; a server that sends others then lies
	marks  bool // bookmarks were requested
	count  int  // events sent

	position uint64 // the version that was sent
	timers   []*time.Timer
}

// streamBuffer is more than a program writes while a reader is busy.
const streamBuffer = 4096

// newStream opens a watch. If inList is true, the caller sends the initial state.
func newStream(s *server, faults []fault, options metav1.ListOptions, inList bool) *stream {
	w := &stream{
		server: s, faults: faults, events: make(chan watch.Event, streamBuffer), inList: inList,
		marks: options.AllowWatchBookmarks, position: parseVersion(options.ResourceVersion),
	}
	s.streams = append(s.streams, w)
	if options.TimeoutSeconds != nil {
		w.closeIn(time.Duration(*options.TimeoutSeconds) * time.Second)
	}
	if hasFault(faults, faultClose45) {
		w.closeIn(45 * time.Second)
	}
	w.misbehave()
	return w
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

// sendState sends the present state, and a bookmark at its end if it was requested.
func (w *stream) sendState(end bool) {
	e := w.server.world.present()
	objects := e.at(e.head)
	defer func() { w.inList = false }()
	for _, key := range sortedKeys(objects) {
		w.send(watch.Event{Type: watch.Added, Object: podOf(objects[key])})
	}
	w.position = e.head
	if end {
		w.send(bookmarkAt(e.head, map[string]string{metav1.InitialEventsAnnotationKey: "true"}))
	}
}

// deliver sends the changes since the last one.
func (w *stream) deliver() {
	e := w.server.world.present()
	for _, s := range e.since(w.position) {
		w.position = s.version
		w.send(eventOf(e, s))
	}
}

// eventOf returns the event of a state.
func eventOf(e *epoch, s state) watch.Event {
	_, existed := e.at(s.version - 1)[s.key]
	switch {
	case s.deleted:
		return watch.Event{Type: watch.Deleted, Object: podOf(s)}
	case existed:
		return watch.Event{Type: watch.Modified, Object: podOf(s)}
	}
	return watch.Event{Type: watch.Added, Object: podOf(s)}
}

func (w *stream) bookmark() {
	if e := w.server.world.present(); w.marks {
		w.position = max(w.position, e.head)
		w.send(bookmarkAt(e.head, nil))
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
	w.events <- eventOf(e, sent[from])
}
