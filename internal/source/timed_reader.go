// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"cmp"
	"io"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/feed"
)

// timedReader reads a body. After some time, it reads what is left of the body into memory.
type timedReader struct {
	timer clock.Timer  // calls readRest
	close func() error // closes the body; may be called more than once

	mu      sync.Mutex // held during each read of the body; guards the fields below
	body    io.Reader
	err     error // with which the body ended, if the rest was read
	stopped bool
}

func newTimedReader(body io.Reader, closeBody func() error, after time.Duration) *timedReader {
	r := &timedReader{body: body, close: closeBody}
	r.timer = clock.RealClock{}.AfterFunc(after, r.readRest)
	return r
}

// readRest reads what is left of the body into memory, and closes the body: a transport of the
// program may wait for that before it sends another request.
func (r *timedReader) readRest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return
	}
	rest, err := feed.CatchPanic(func() ([]byte, error) { return io.ReadAll(r.body) })
	r.body, r.err = bytes.NewReader(rest), cmp.Or(err, io.EOF)
	_ = r.close() // whose error says nothing about what was read
}

// stop must be called after the last Read. The body is not read afterwards.
func (r *timedReader) stop() {
	if !r.timer.Stop() {
		_ = r.close() // ends readRest
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
}

// Read implements io.Reader.
func (r *timedReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, err := r.body.Read(p)
	if r.err != nil && err != nil {
		err = r.err
	}
	return n, err
}
