// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"time"

	"github.com/kinformer/kinformer/fake/internal/fault"
)

// request returns the call's description, by which the fault is chosen.
func (c *call) request() fault.Request {
	if c.target.Resource == "" {
		return fault.Request{HTTP: c.r}
	}
	return fault.Request{
		Verb: c.verb(), GroupVersionResource: c.target.GroupVersionResource,
		Namespace: c.target.namespace, Name: c.target.name, Subresource: c.target.subresource, HTTP: c.r,
	}
}

// applyFault injects the fault before the request is served. It reports whether the request is
// still to be served.
func (c *call) applyFault() bool {
	f := &c.fault
	if f.CutAfterBytes != 0 {
		c.w = &cutWriter{ResponseWriter: c.w, left: max(f.CutAfterBytes, 0)}
	}
	if !f.Wait(c.r.Context().Done(), c.Closing) {
		panic(http.ErrAbortHandler)
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
	var closeIn <-chan time.Time
	if c.fault.CloseIn > 0 {
		closeIn = time.After(c.fault.CloseIn)
	}
	select {
	case <-closeIn:
	case <-c.r.Context().Done():
	case <-c.Closing:
	}
	panic(http.ErrAbortHandler)
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
