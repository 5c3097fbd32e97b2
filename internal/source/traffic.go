// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/tap"
)

// The verbs of requests.
const (
	verbList  = "LIST"
	verbWatch = "WATCH"
)

// traffic counts the requests of a source and the bytes that it reads. It is safe for concurrent
// use.
type traffic struct {
	bytes atomic.Uint64

	mu       sync.Mutex // guards requests
	requests map[feed.Request]uint64
}

// record counts a request by its response or, without one, by err. It is called once the request
// has failed or its response begins.
func (t *traffic) record(verb string, response tap.Response, err error) {
	request := feed.Request{Verb: verb, Code: statusCode(response, err)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.requests == nil {
		t.requests = make(map[feed.Request]uint64)
	}
	t.requests[request]++
}

// counted returns the number of requests by verb and code.
func (t *traffic) counted() map[feed.Request]uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.requests)
}

// reader returns a reader that counts the bytes of a body.
func (t *traffic) reader(body io.Reader) io.Reader { return &countingReader{body, &t.bytes} }

// statusCode returns the code of a response, which the tap has seen or the client's error states.
func statusCode(response tap.Response, err error) string {
	var status apierrors.APIStatus
	switch {
	case response.StatusCode != 0:
		return strconv.Itoa(response.StatusCode)
	case err == nil:
		return strconv.Itoa(http.StatusOK)
	case errors.As(err, &status) && status.Status().Code != 0:
		return strconv.Itoa(int(status.Status().Code))
	}
	return "<error>"
}

// countingReader counts the bytes that are read.
type countingReader struct {
	io.Reader
	bytes *atomic.Uint64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.bytes.Add(uint64(n))
	return n, err
}
