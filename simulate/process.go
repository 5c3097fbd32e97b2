// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// process is one replica of the program, from one call of Start to its return. It is the transport
// of the replica's clients.
type process struct {
	scheduler *scheduler
	number    int // of the replica, from 1
	cancel    context.CancelFunc
	dead      bool           // its requests fail; guarded by scheduler.mu
	webhooks  *http.ServeMux // that it serves, or nil; guarded by scheduler.mu
	stopping  bool           // the run has ended or the process has crashed: Start may return
	done      chan struct{}  // closed when Start has returned
	err       error          // of Start; set before done is closed
	panicked  string         // set before done is closed, with the stack
	stack     string
}

// start calls Start in a goroutine.
func (s *scheduler) start(number int) {
	p := &process{scheduler: s, number: number, done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), processKey{}, p))
	p.cancel = cancel
	s.mu.Lock()
	s.processes = append(s.processes, p)
	s.mu.Unlock()
	go func() {
		defer s.notify()
		defer close(p.done)
		defer func() {
			if cause := recover(); cause != nil {
				p.panicked, p.stack = fmt.Sprint(cause), string(debug.Stack())
			}
		}()
		p.err = s.test.Start(ctx, &rest.Config{Host: "http://simulated", Transport: p, QPS: -1})
	}()
}

func (p *process) name() string { return fmt.Sprintf("process %d", p.number) }

// hasReturned reports whether Start has returned.
func (p *process) hasReturned() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// crash ends a process: its requests and watches fail, and its context is cancelled.
func (s *scheduler) crash(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.dead, p.stopping = true, true
	for _, q := range s.pending {
		if q.process == p {
			q.fail(errRefused)
		}
	}
	s.pending = slices.DeleteFunc(s.pending, func(q *request) bool { return q.process == p })
	for _, q := range s.pending {
		if q.review != nil && q.review.call != nil && q.review.call.server == p {
			q.review.call.cancel(errReset)
		}
	}
	for _, w := range slices.Clone(s.watches) {
		if w.process == p {
			w.end(errReset)
		}
	}
	p.cancel()
}

// maxRestarts is the number of restarts in a run after which the program is not started again.
const maxRestarts = 20

// reviveProcesses starts the replicas again whose Start has returned after a crash, or with an
// error that a disturbance has caused. Any other return is a failure.
func (s *scheduler) reviveProcesses() {
	for i, p := range s.processes {
		if !p.hasReturned() || s.stopped {
			continue
		}
		switch {
		case p.stack != "":
			s.record.failWithStacks(Panic, []string{p.stack}, "Start panicked: %s", p.panicked)
			return
		case !p.stopping && (!s.disturbed || p.err == nil):
			s.record.fail(Return, "Start returned while its context is not cancelled: %v", p.err)
			return
		}
		s.crash(p)
		s.mu.Lock()
		s.processes = slices.Delete(s.processes, i, i+1)
		s.mu.Unlock()
		if s.restarts++; s.restarts > maxRestarts {
			s.record.fail(Return, "Start has returned %d times, the last time with %v", s.restarts, p.err)
			return
		}
		s.record.note(p.name(), "is started again")
		s.start(p.number)
		return
	}
}

// request is a request of a process that the scheduler has not executed yet.
type request struct {
	process *process
	http    *http.Request
	body    []byte
	target  target
	point   string // the name of a write
	denied  bool   // the roles of the process do not permit it
	round   int    // in which it arrived
	sortKey string
	answer  chan answer

	user   string  // that webhooks receive; empty for that of the program
	review *review // of a write that webhooks are called for, or nil

	external *external          // that it is a request to, or nil for the API server
	running  bool               // the handler of the external or of a webhook; guarded by scheduler.mu
	cancel   context.CancelFunc // of the context that the handler receives, or nil
	executed bool               // the handler has returned, and response is its response
	response *http.Response
	effects  effects // of the disturbances of a write
}

type answer struct {
	response *http.Response
	err      error
}

// RoundTrip implements http.RoundTripper. It blocks until the scheduler has executed the request.
func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	q, err := p.newRequest(r, targetOf(r))
	if err != nil {
		return nil, err
	}
	return q.roundTrip()
}

// newRequest returns a request of the process. It reads the body.
func (p *process) newRequest(r *http.Request, t target) (*request, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, fmt.Errorf("read body of request: %w", err)
		}
		_ = r.Body.Close() // of a reader in memory
	}
	q := &request{process: p, http: r.Clone(r.Context()), body: body, target: t, answer: make(chan answer, 1)}
	q.http.Body = io.NopCloser(bytes.NewReader(body))
	q.http.RequestURI = r.URL.RequestURI()
	q.sortKey = fmt.Sprintf("%d %s %s %s %s", p.number, q.target.verb, q.target.resource.Resource, r.URL.RequestURI(), digest(body))
	return q, nil
}

// roundTrip blocks until the scheduler has responded, or the context of the request ends.
func (q *request) roundTrip() (*http.Response, error) {
	s := q.process.scheduler
	if !s.submit(q) {
		return nil, errRefused
	}
	select {
	case a := <-q.answer:
		return a.response, a.err
	case <-q.http.Context().Done():
		s.withdraw(q)
		return nil, q.http.Context().Err()
	}
}

// nameOf returns the name of the object in a body. It is empty for a body that is no object.
func nameOf(body []byte) objectName {
	var obj struct{ Metadata objectName }
	if json.Unmarshal(body, &obj) == nil {
		return obj.Metadata
	}
	decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil) // protobuf
	if typed, ok := decoded.(metav1.Object); ok && err == nil {
		return objectName{Name: typed.GetName(), GenerateName: typed.GetGenerateName()}
	}
	return objectName{}
}

// key implements stimulus.
func (q *request) key() string { return q.sortKey }

// since implements stimulus.
func (q *request) since() int { return q.round }

// load implements stimulus.
func (q *request) load() int {
	isWrite := q.target.isWrite() && !q.target.isTraffic()
	if q.external != nil {
		isWrite = q.isExternalWrite()
	}
	if isWrite {
		return writeLoad
	}
	return readLoad
}

// deliver implements stimulus.
func (q *request) deliver(s *scheduler) {
	if q.external != nil {
		q.external.deliver(q)
		return
	}
	if q.review != nil && !q.review.ended {
		q.review.deliver()
		return
	}
	s.withdraw(q)
	s.serve(q)
}

// note adds the request to a record, with the status code of its response and why it has failed, or
// the version that it has read or written. Before is the version before a write.
func (q *request) note(r *record, code int, reason, before, version string) {
	if q.target.resource.Empty() || q.target.isTraffic() {
		return
	}
	e := entry{who: q.process.name(), kind: requestEntry, what: cmp.Or(q.point, q.target.String()), mark: q.effects.mark()}
	write := e.what + " at version " + version
	if code >= http.StatusBadRequest {
		e.what += fmt.Sprintf(": %d %s", code, reason)
		write = e.what
	} else {
		e.version = version
	}
	switch {
	case q.point != "":
		r.writes = append(r.writes, write)
		if code < http.StatusBadRequest {
			e.before = before
			r.accepted++
		}
	case q.target.verb == "watch" && code < http.StatusBadRequest:
		e.kind = watchEntry
	}
	r.add(e)
}

// what returns what the request does, as points name it, without the number.
func (q *request) what() string {
	if _, what, ok := strings.Cut(q.point, " "); ok {
		return what
	}
	return q.target.String()
}

func (q *request) respond(response *http.Response) {
	response.Request = q.http
	q.answer <- answer{response: response}
}

// fail ends the request without a response.
func (q *request) fail(err error) {
	if q.cancel != nil {
		q.cancel()
	}
	q.answer <- answer{err: err}
}

var (
	// errRefused is the error of a request of a process that has crashed.
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	// errReset is the error of a request whose response is lost.
	errReset = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
)
