// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// external is a service outside of the API server. It is the transport of the program's clients of
// the service. A request is two stimuli: the call of the handler, in a goroutine of its own, and,
// after the handler has returned, the response.
type external struct {
	scheduler *scheduler
	name      string
	handler   http.Handler
}

// External returns a transport for clients of a service outside of the API server, such as that of
// a cloud, which handler plays: as a server does, it calls handler in a goroutine for each request.
// Setup calls External, since a transport serves one run only. A request must have a context that
// is derived from that of Start if Test.Replicas is more than one. Setup, Steps and Outside may use
// the transport, and Invariants and MayBeRefused, too: their requests are executed at once.
//
// The program's requests are among the stimuli, and those of other methods than GET, HEAD and
// OPTIONS are writes that disturbances happen at: "2nd PUT of storage backups/db" is one to the
// service "storage". The query is no part of it. UIDs in the path are replaced by asterisks.
// [Conflict], [Lag] and [Gap] do not
// happen to them. A crash closes the connection: the context of the handler's request is cancelled.
// A handler that panics with [http.ErrAbortHandler] closes it, too; any other panic fails the run.
func (w *World) External(name string, handler http.Handler) http.RoundTripper {
	if strings.ContainsAny(name, " /") || name == "" {
		panic(stepFailed{fmt.Errorf("the name of external service %q is empty, or has a space or slash", name)})
	}
	return &external{scheduler: w.scheduler, name: name, handler: handler}
}

// RoundTrip implements http.RoundTripper. It blocks until the response is delivered.
func (e *external) RoundTrip(r *http.Request) (*http.Response, error) {
	p, err := e.sender(r.Context())
	switch {
	case err != nil:
		if r.Body != nil {
			_ = r.Body.Close() // as the interface requires
		}
		return nil, err
	case p == nil:
		return e.handle(r.Context(), r), nil
	}
	path := strings.Trim(r.URL.EscapedPath(), "/")
	t := target{verb: strings.ToUpper(cmp.Or(r.Method, http.MethodGet)), resource: schema.GroupVersionResource{Resource: e.name}, name: path}
	q, err := p.newRequest(r, t)
	if err != nil {
		return nil, err
	}
	q.external = e
	return q.roundTrip()
}

// processKey is the key of the process in the context of Start.
type processKey struct{}

// sender returns the process that sends a request with a context, or nil for a request of a
// function of the test. Which one it is of several replicas, only the context says.
func (e *external) sender(ctx context.Context) (*process, error) {
	s := e.scheduler
	p, ok := ctx.Value(processKey{}).(*process)
	if ok && p.scheduler == s {
		return p, nil
	}
	if ok {
		s = p.scheduler // of the run in progress
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ok || s.stopped && !s.running:
		return nil, s.refuse(e.name, "the run of its transport has ended. Call World.External in Setup, which is called in each run")
	case !s.running:
		return nil, nil
	case len(s.processes) == 0:
		return nil, errRefused
	case s.test.Replicas > 1:
		return nil, s.refuse(e.name, "its context is not derived from that of Start, and there are several replicas")
	}
	return s.processes[0], nil
}

// refuse returns the error of a request to a service, with which the run fails unless it has ended.
// The caller must hold mu.
func (s *scheduler) refuse(service, reason string) error {
	err := fmt.Errorf("request to %s: %s", service, reason)
	if s.running {
		s.reports = append(s.reports, func() { s.record.fail(oracleSteps, "%v", err) })
		s.notify()
	}
	return err
}

// deliver begins a request, or responds to it after the handler has returned.
func (e *external) deliver(q *request) {
	if q.executed {
		e.respond(q)
		return
	}
	s := e.scheduler
	if q.isExternalWrite() {
		q.point = s.points.external(q.target)
		s.record.points = append(s.record.points, q.point)
		q.effects = s.effectsAt(q.point, q.target)
	}
	switch effects := q.effects; {
	case effects.touch || effects.hold > 0:
		s.record.fail(oracleSteps, "%s is not a write to the API server: Conflict, Lag and Gap do not happen to it", q.point)
	case effects.crashBefore:
		s.crashBefore(q)
	case effects.err != nil:
		q.response = errorResponse(effects.err)
		e.note(q)
		e.respond(q)
	default:
		ctx, cancel := context.WithCancel(q.http.Context())
		s.mu.Lock()
		q.running, q.cancel = true, cancel
		s.mu.Unlock()
		go e.execute(ctx, q)
	}
}

// isExternalWrite reports whether a request to an external service is one that may change it.
func (q *request) isExternalWrite() bool {
	switch q.target.verb {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return true
}

// isExternal reports whether a point is a request to an external service: the methods of HTTP are
// in upper case, and the verbs of the API server are not.
func isExternal(point string) bool {
	_, verb, _ := strings.Cut(point, " ")
	return verb != "" && unicode.IsUpper(rune(verb[0]))
}

// execute calls the handler for a request of a process. The context of the handler's request ends
// with the client's, with a crash of the process, and when the handler returns.
func (e *external) execute(ctx context.Context, q *request) {
	defer q.cancel()
	var response *http.Response
	defer func() { e.executed(q, response, recover()) }()
	response = e.handle(ctx, q.http)
}

// handle calls the handler with a request as a server receives it, and returns the response.
func (e *external) handle(ctx context.Context, r *http.Request) *http.Response {
	received := r.Clone(ctx)
	received.RequestURI, received.RemoteAddr = r.URL.RequestURI(), "192.0.2.1:1234"
	received.Host = cmp.Or(r.Host, r.URL.Host)
	received.URL.Scheme, received.URL.Host, received.URL.User = "", "", nil
	if received.Body == nil {
		received.Body = http.NoBody
	}
	recorder := httptest.NewRecorder()
	e.handler.ServeHTTP(recorder, received)
	response := recorder.Result()
	response.Request = r
	if r.Method == http.MethodHead {
		response.Body = http.NoBody
	} else {
		response.ContentLength = int64(recorder.Body.Len())
	}
	return response
}

// executed makes the response of a handler a stimulus. It is nil if the handler has panicked, for
// the cause. It is called by the handler's goroutine.
func (e *external) executed(q *request, response *http.Response, cause any) {
	s := e.scheduler
	s.mu.Lock()
	q.running, q.executed, q.response, q.round = false, true, response, s.round
	s.mu.Unlock()
	stack := debug.Stack()
	s.report(func() {
		e.note(q)
		if cause != nil && cause != http.ErrAbortHandler { //nolint:errorlint // as net/http compares
			s.record.fail(oracleSteps, "the handler of %s panicked: %v\n%s", e.name, cause, stack)
		}
	})
}

// note adds an executed request to the record. A write counts for Rest if it has changed
// Test.Outside.
func (e *external) note(q *request) {
	s, what, result := e.scheduler, cmp.Or(q.point, q.target.String()), "the connection is closed"
	if q.response != nil {
		result = q.response.Status
	}
	s.record.add(entry{who: q.process.name(), kind: requestEntry, what: what + ": " + result, mark: q.effects.mark()})
	if q.point == "" {
		return
	}
	s.record.writes = append(s.record.writes, what+": "+result)
	outcome := ""
	switch {
	case q.response == nil:
	case q.response.StatusCode < http.StatusBadRequest:
		s.record.accepted++
	case q.target.verb == http.MethodDelete && q.response.StatusCode == http.StatusNotFound: // as the program wants it
		s.record.accepted++
		fallthrough
	default:
		outcome = strconv.Itoa(q.response.StatusCode)
	}
	_, write, _ := strings.Cut(q.point, " ")
	s.rest.changedOutside(write, outcome, s.outsideState())
}

// respond ends a request, with the effects of its disturbances.
func (e *external) respond(q *request) {
	s := e.scheduler
	s.withdraw(q)
	if q.response != nil && !q.effects.lost && !q.effects.crashAfter {
		q.respond(q.response)
		return
	}
	q.fail(errReset)
	if q.effects.crashAfter {
		s.crash(q.process)
	}
}

// errorResponse returns the response of a disturbance.
func errorResponse(err error) *http.Response {
	recorder := httptest.NewRecorder()
	var status apierrors.APIStatus
	code := http.StatusInternalServerError
	if errors.As(err, &status) {
		code = int(status.Status().Code)
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		recorder.Header().Set("Retry-After", fmt.Sprint(seconds))
	}
	http.Error(recorder, err.Error(), code)
	return recorder.Result()
}

// handlersOf says that handlers are among the goroutines that are left, if they are.
func handlersOf(stacks []string) string {
	if slices.ContainsFunc(stacks, func(stack string) bool { return strings.Contains(stack, "simulate.(*external).execute(") }) {
		return ". A handler of World.External must return when the context of its request ends"
	}
	return ""
}
