// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake/internal/history"
	fakerest "github.com/kinformer/kinformer/fake/internal/rest"
)

// APIRequest describes a request to an [APIServer]. For requests that do not name a resource, such
// as discovery, only HTTP is set.
type APIRequest struct {
	// Verb is "get", "list", "watch", "create", "update", "patch", "delete" or "deletecollection".
	Verb string
	schema.GroupVersionResource
	Namespace, Name, Subresource string
	// HTTP is the request itself. Its body must not be read.
	HTTP *http.Request
}

// RequestFault describes a fault of one request to an [APIServer]. Fields may be combined. The zero
// value is no fault.
type RequestFault struct {
	// Delay delays the request, before any other effect.
	Delay time.Duration
	// Hold, if not nil, blocks the request after Delay until the channel is closed. The request is
	// served after the wait.
	Hold <-chan struct{}
	// Err, if not nil, is the response, and the request writes nothing. An error that is not an API
	// error becomes a 500.
	Err error

	// ResourceVersion, if not empty, makes a get, list or watch read from a replica that never
	// advances beyond this version, whatever version the request asks for. The response is 410 if
	// the version is no longer in the history.
	ResourceVersion string

	// CutAfterBytes, if positive, closes the connection after that many bytes of the response body,
	// counted after compression. If negative, the connection is closed before the body. A write
	// takes effect all the same.
	CutAfterBytes int
	// CloseAfterEvents, if positive, ends a watch after that many events, including bookmarks. If
	// negative, the watch ends without any event. The response is complete, without a broken
	// connection.
	CloseAfterEvents int
	// CloseIn, if positive, ends a watch after that time, with a complete response. With Stall, it
	// closes the connection of any other request after that time.
	CloseIn time.Duration
	// Stall makes a dead connection. A watch is opened and sends nothing, not even bookmarks, and
	// ignores its timeoutSeconds. Other requests get no response and write nothing. The connection
	// stays open until the client closes it, CloseIn has passed or Close is called.
	Stall bool
}

// InjectFault applies fault to the next n requests that match. A negative n means all further
// matching requests, until ClearFaults. If several faults match, the one injected first applies. A
// nil match matches every request. The server does not call match concurrently, and match must not
// call InjectFault or ClearFaults.
//
// A request that is being served is not affected. To end a watch, inject CloseIn or
// CloseAfterEvents before it is opened.
//
// InjectFault panics if the fault's ResourceVersion is invalid.
func (s *APIServer) InjectFault(n int, match func(APIRequest) bool, fault RequestFault) {
	if fault.ResourceVersion != "" {
		if _, err := history.ParseVersion(fault.ResourceVersion); err != nil {
			panic("fake.APIServer: " + err.Error())
		}
	}
	if match == nil {
		match = func(APIRequest) bool { return true }
	}
	s.faults.add(requestFault{n, match, fault})
}

// ClearFaults removes all faults that no request has used yet. Requests in progress keep theirs.
func (s *APIServer) ClearFaults() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.pending = nil
}

// requestFaults holds the injected faults that are not used up.
type requestFaults struct {
	mu      sync.Mutex // guards pending
	pending []requestFault
}

type requestFault struct {
	remaining int // requests; negative if unlimited
	match     func(APIRequest) bool
	fault     RequestFault
}

func (f *requestFaults) add(fault requestFault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fault.remaining != 0 {
		f.pending = append(f.pending, fault)
	}
}

// take returns the fault that applies to request and removes it if this was its last use. Without
// any, it returns the zero Fault.
func (f *requestFaults) take(request fakerest.Request) fakerest.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.pending, func(p requestFault) bool { return p.match(APIRequest(request)) })
	if i < 0 {
		return fakerest.Fault{}
	}
	p := &f.pending[i]
	fault := fakerest.Fault(p.fault)
	if p.remaining > 0 {
		p.remaining--
	}
	if p.remaining == 0 {
		f.pending = slices.Delete(f.pending, i, i+1)
	}
	return fault
}
