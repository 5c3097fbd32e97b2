// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"cmp"
	"io"
	"sync"

	"github.com/kinformer/kinformer/internal/feed"
)

// timedReader reads a body of which what is left can be read at once, while it is read.
type timedReader struct {
	close func() error // closes the body

	mu   sync.Mutex // held while the body is read; guards the fields below
	body io.Reader
	err  error // with which the body ended, if the rest was read
}

// readRest reads what is left of the body into memory, and closes it: a transport of the program
// may wait for that before it sends another request.
func (r *timedReader) readRest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest, err := feed.CatchPanic(func() ([]byte, error) { return io.ReadAll(r.body) })
	r.body, r.err = bytes.NewReader(rest), cmp.Or(err, io.EOF)
	_ = r.close() // whose error says nothing about what was read
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
