package rest

import (
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/registry"
)

// Request is what a request asks for. For paths that are no resource all but HTTP is empty.
type Request struct {
	Verb string
	schema.GroupVersionResource
	Namespace, Name, Subresource string
	HTTP                         *http.Request
}

// Fault is what goes wrong with one request; package fake documents its fields.
type Fault struct {
	Delay            time.Duration
	Hold             <-chan struct{}
	Err              error
	ResourceVersion  string
	CutAfterBytes    int
	CloseAfterEvents int
	CloseIn          time.Duration
	Stall            bool
}

// request describes the call to those who choose what goes wrong.
func (c *call) request() Request {
	if c.target.Resource == "" {
		return Request{HTTP: c.r}
	}
	return Request{
		Verb: c.verb(), GroupVersionResource: c.target.GroupVersionResource,
		Namespace: c.target.namespace, Name: c.target.name, Subresource: c.target.subresource, HTTP: c.r,
	}
}

// replica is the server that answers; an unreadable version, which was refused before, is none.
func (f Fault) replica() registry.Replica {
	version, err := history.ParseVersion(f.ResourceVersion)
	if err != nil {
		return 0
	}
	return registry.Replica(version)
}

// misfortune does what happens to a request before it is answered, and tells whether it is answered at all.
func (c *call) applyFault() bool {
	f := &c.fault
	if f.CutAfterBytes != 0 {
		c.w = &cutWriter{ResponseWriter: c.w, left: max(f.CutAfterBytes, 0)}
	}
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		c.await(timer.C)
	}
	if f.Hold != nil {
		await(c, f.Hold)
	}
	if f.Stall && c.verb() != "watch" {
		c.hang()
	}
	if f.Err != nil {
		c.fail(f.Err)
		return false
	}
	return true
}

// silence never answers. It ends with the request, with the server, or when the fault says so; then the connection is cut.
func (c *call) hang() {
	if c.fault.CloseIn > 0 {
		timer := time.NewTimer(c.fault.CloseIn)
		defer timer.Stop()
		c.await(timer.C)
	} else {
		await(c, (<-chan struct{})(nil))
	}
	panic(http.ErrAbortHandler)
}

func (c *call) await(timer <-chan time.Time) { await(c, timer) }

// await waits for something. If the client or the server goes first the call is over: its connection is cut.
func await[T any](c *call, something <-chan T) {
	select {
	case <-something:
	case <-c.r.Context().Done():
		panic(http.ErrAbortHandler)
	case <-c.Closing:
		panic(http.ErrAbortHandler)
	}
}

// cutWriter passes on so many bytes of a body and then cuts the connection.
type cutWriter struct {
	http.ResponseWriter
	left int
}

// Unwrap lets http.ResponseController reach the connection.
func (w *cutWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements io.Writer.
func (w *cutWriter) Write(data []byte) (int, error) {
	if len(data) <= w.left {
		w.left -= len(data)
		return w.ResponseWriter.Write(data)
	}
	_, _ = w.ResponseWriter.Write(data[:w.left])             // if the client is gone already, so much the better
	_ = http.NewResponseController(w.ResponseWriter).Flush() // what is cut off must not take the rest with it
	panic(http.ErrAbortHandler)
}
