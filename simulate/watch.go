// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake"
)

// watchStream is an open watch of a process: the body of the response on the one side, the writer
// of the server's handler on the other. The scheduler carries the events from one to the other. Its
// fields are guarded by scheduler.mu.
type watchStream struct {
	scheduler *scheduler
	process   *process
	target    target
	sortKey   string
	cancel    context.CancelFunc // ends the server's handler
	detach    func() bool        // from the context of the request
	header    http.Header
	code      int
	opened    chan struct{} // closed when the handler has written the header
	isOpen    bool
	inPast    bool // it does not advance

	frames  [][]byte // written by the server and not delivered
	held    int      // the number of frames that were held
	ended   bool     // the server's handler has returned
	round   int      // in which the first frame was written
	body    bytes.Buffer
	err     error         // of the next read, after the body; io.EOF at the end of the watch
	changed chan struct{} // has an element after a change of body or err
}

// openWatch calls the server's handler in a goroutine, and responds when the header is written. An
// error is a response like any other.
func (s *scheduler) openWatch(q *request) {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watchStream{
		scheduler: s, process: q.process, target: q.target, sortKey: q.sortKey, cancel: cancel,
		header: http.Header{}, code: http.StatusOK, opened: make(chan struct{}), changed: make(chan struct{}, 1),
	}
	fault := fake.Fault{}
	if denied := s.denial(q); denied != nil {
		fault.Err = denied
	} else {
		fault = s.staleness.watchFault(q.process.number, q.target)
	}
	if fault.Err != nil || fault.ResourceVersion != "" {
		w.inPast = fault.ResourceVersion != ""
		s.server.InjectFault(1, func(r fake.APIRequest) bool { return r.HTTP.Context() == ctx }, fault)
	}
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		s.server.ServeHTTP(w, q.http.WithContext(ctx))
		w.WriteHeader(http.StatusOK)
		s.mu.Lock()
		defer s.mu.Unlock()
		w.ended = true
		if len(w.frames) == 0 {
			w.round = s.round
		}
	}()
	<-w.opened
	q.note(&s.record, w.code, http.StatusText(w.code), "", cmp.Or(q.http.URL.Query().Get("resourceVersion"), s.server.ResourceVersion()))
	if w.code != http.StatusOK {
		<-returned
		response := &recorder{header: w.header, code: w.code, body: *bytes.NewBuffer(bytes.Join(w.frames, nil))}
		s.refusals.note(q, response.refusal())
		q.respond(response.response())
		return
	}
	s.refusals.note(q, nil)
	s.mu.Lock()
	s.watches = append(s.watches, w)
	w.detach = context.AfterFunc(q.http.Context(), func() { // as a real transport does
		s.mu.Lock()
		defer s.mu.Unlock()
		w.end(context.Cause(q.http.Context()))
	})
	s.mu.Unlock()
	q.respond(&http.Response{
		Status: http.StatusText(http.StatusOK), StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: w, ContentLength: -1,
	})
}

// Header implements http.ResponseWriter.
func (w *watchStream) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *watchStream) WriteHeader(code int) {
	if !w.isOpen {
		w.isOpen, w.code = true, code
		close(w.opened)
	}
}

// Write implements http.ResponseWriter. The server writes each event in one call.
func (w *watchStream) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.scheduler.mu.Lock()
	defer w.scheduler.mu.Unlock()
	if len(w.frames) == 0 {
		w.round = w.scheduler.round
	}
	w.frames = append(w.frames, slices.Clone(p))
	w.scheduler.notify()
	return len(p), nil
}

// Flush implements http.Flusher.
func (w *watchStream) Flush() {}

// Read implements io.Reader, for the client.
func (w *watchStream) Read(p []byte) (int, error) {
	for {
		w.scheduler.mu.Lock()
		n, _ := w.body.Read(p) // io.EOF of an empty buffer
		err := w.err
		w.scheduler.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		if err != nil {
			return 0, err
		}
		<-w.changed
	}
}

// Close implements io.Closer, for the client.
func (w *watchStream) Close() error {
	w.scheduler.mu.Lock()
	defer w.scheduler.mu.Unlock()
	w.end(http.ErrBodyReadAfterClose)
	return nil
}

// end ends the watch. The client's next read returns err, after what was delivered. The caller must
// hold scheduler.mu.
func (w *watchStream) end(err error) {
	if w.err == nil {
		w.err = err
	}
	w.frames = nil
	w.cancel()
	w.detach()
	w.signal()
	s := w.scheduler
	s.watches = slices.DeleteFunc(s.watches, func(other *watchStream) bool { return other == w })
}

func (w *watchStream) signal() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// key implements stimulus.
func (w *watchStream) key() string { return w.sortKey }

// since implements stimulus.
func (w *watchStream) since() int { return w.round }

// load implements stimulus.
func (w *watchStream) load() int {
	if w.target.isTraffic() {
		return readLoad
	}
	return writeLoad
}

// deliver implements stimulus: it passes the first event on, or the end of the watch.
func (w *watchStream) deliver(s *scheduler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(w.frames) == 0 {
		w.end(io.EOF)
		return
	}
	if !w.target.isTraffic() {
		s.record.add(entry{who: w.process.name(), kind: eventEntry, event: w.frames[0], held: w.held > 0})
	}
	w.held = max(w.held-1, 0)
	w.body.Write(w.frames[0])
	w.frames = w.frames[1:]
	w.round = s.round
	w.signal()
}

// noteHeld notes that the events of a resource which are not delivered yet were held.
func (s *scheduler) noteHeld(resource schema.GroupVersionResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		if w.target.resource == resource {
			w.held = len(w.frames)
		}
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

// watchedResources returns the resources that processes watch, but for Leases and Events, in order.
func (s *scheduler) watchedResources() []schema.GroupVersionResource {
	s.mu.Lock()
	defer s.mu.Unlock()
	var watched []schema.GroupVersionResource
	for _, w := range s.watches {
		if !w.target.isTraffic() && !slices.Contains(watched, w.target.resource) {
			watched = append(watched, w.target.resource)
		}
	}
	slices.SortFunc(watched, compareResources)
	return watched
}
