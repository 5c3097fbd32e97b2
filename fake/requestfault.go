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

// APIRequest is a request to an APIServer. For paths that are no resource, as in discovery, all but HTTP is empty.
type APIRequest struct {
	// Verb is get, list, watch, create, update, patch, delete or deletecollection.
	Verb string
	schema.GroupVersionResource
	Namespace, Name, Subresource string
	// HTTP is the request itself; its body must not be read.
	HTTP *http.Request
}

// RequestFault is what goes wrong with one request to an APIServer. Its parts may be combined; the zero value is an ordinary answer.
type RequestFault struct {
	// Delay is how long the request takes before anything else happens to it.
	Delay time.Duration
	// Hold, if not nil, keeps the request waiting until it is closed, after Delay. The answer is made after the wait.
	Hold <-chan struct{}
	// Err, if not nil, is the answer: [TooManyRequests] with its Retry-After, [InternalError], [Expired], any API error. Others become a 500. Nothing
	// is written.
	Err error

	// ResourceVersion, if not empty, makes a get, a list or a watch be answered by a replica that has come no further than this version and never
	// will, whatever version was asked for: a stale read. 410 where that version is forgotten.
	ResourceVersion string

	// CutAfterBytes, if positive, cuts the connection after so many bytes of the answer's body, compressed as they are sent; if negative, before the first. A
	// write has happened all the same.
	CutAfterBytes int
	// CloseAfterEvents, if positive, ends a watch in good order after that many events, bookmarks counted; if negative, before the first.
	CloseAfterEvents int
	// CloseIn, if positive, ends a watch in good order after that time, and cuts another request's connection if it is Silent.
	CloseIn time.Duration
	// Silent makes a dead connection: a watch is opened and sends nothing, bookmarks neither, whatever its timeoutSeconds; other requests are never
	// answered and nothing is written. Only the client, CloseIn and Close end it.
	Stall bool
}

// InjectFault lets a fault happen to the next n requests that match, a negative n means all, until ClearFaults. match may be nil, for any
// request; it is called for one request at a time, and must not use the server's faults. Where several faults match it is the one that was
// given first.
//
// It panics if the fault's ResourceVersion is not one.
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

// ClearFaults takes back all faults that no request has met yet.
func (s *APIServer) ClearFaults() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.pending = nil
}

// requestFaults are the faults that await their requests.
type requestFaults struct {
	mu      sync.Mutex // guards pending
	pending []requestFault
}

type requestFault struct {
	left  int // negative: no end
	match func(APIRequest) bool
	fault RequestFault
}

func (f *requestFaults) add(fault requestFault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fault.left != 0 {
		f.pending = append(f.pending, fault)
	}
}

// take returns what goes wrong with a request, which is used up by it.
func (f *requestFaults) take(request fakerest.Request) fakerest.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.pending, func(p requestFault) bool { return p.match(APIRequest(request)) })
	if i < 0 {
		return fakerest.Fault{}
	}
	p := &f.pending[i]
	fault := fakerest.Fault(p.fault)
	if p.left > 0 {
		p.left--
	}
	if p.left == 0 {
		f.pending = slices.Delete(f.pending, i, i+1)
	}
	return fault
}
