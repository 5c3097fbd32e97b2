// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// Request describes a request. For paths that are not those of a resource, only HTTP is set.
type Request struct {
	Verb string
	schema.GroupVersionResource
	Namespace, Name, Subresource string
	HTTP                         *http.Request
}

// Fault is a fault to inject into one request. Package fake documents its fields.
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

// request returns the call's description, by which the fault is chosen.
func (c *call) request() Request {
	if c.target.Resource == "" {
		return Request{HTTP: c.r}
	}
	return Request{
		Verb: c.verb(), GroupVersionResource: c.target.GroupVersionResource,
		Namespace: c.target.namespace, Name: c.target.name, Subresource: c.target.subresource, HTTP: c.r,
	}
}

// replica returns the replica that answers the request. Package fake has validated the version.
func (f Fault) replica() history.Replica {
	version, err := history.ParseVersion(f.ResourceVersion)
	if err != nil {
		return 0
	}
	return history.Replica(version)
}

// applyFault injects the fault before the request is served. It reports whether the request is
// still to be served.
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

// hang never answers. It closes the connection when the request ends, the server closes or the
// fault's CloseIn has passed.
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

// await waits for ch. If the client disconnects or the server closes first, it panics to close the
// connection.
func await[T any](c *call, ch <-chan T) {
	select {
	case <-ch:
	case <-c.r.Context().Done():
		panic(http.ErrAbortHandler)
	case <-c.Closing:
		panic(http.ErrAbortHandler)
	}
}

// cutWriter closes the connection after a number of bytes of the body.
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
	// Errors mean that the client has disconnected. Without Flush, the abort would drop the bytes.
	_, _ = w.ResponseWriter.Write(data[:w.left])
	_ = http.NewResponseController(w.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}
