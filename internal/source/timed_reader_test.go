// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"io"
	"strings"
	"testing"
	"time"
)

// countedBody counts the reads of a body, and how often it is closed.
type countedBody struct {
	io.Reader

	reads, closed int
}

func (b *countedBody) Read(p []byte) (int, error) {
	b.reads++
	return b.Reader.Read(p)
}

func (b *countedBody) Close() error {
	b.closed++
	return nil
}

// TestTimedReaderIsSilentAfterStop has a timer that fires as the reader is stopped.
func TestTimedReaderIsSilentAfterStop(t *testing.T) {
	body := &countedBody{Reader: strings.NewReader("text")}
	r := newTimedReader(body, body.Close, time.Hour)
	r.stop()
	r.readRest()
	if body.reads != 0 || body.closed != 0 {
		t.Errorf("%d reads, closed %d times", body.reads, body.closed)
	}
}

// TestTimedReaderReadsTheRest reads a part of a body before its rest is in memory.
func TestTimedReaderReadsTheRest(t *testing.T) {
	body := &countedBody{Reader: strings.NewReader("text")}
	r := newTimedReader(body, body.Close, time.Hour)
	defer r.stop()
	first := make([]byte, 1)
	if _, err := r.Read(first); err != nil {
		t.Fatal(err)
	}
	r.readRest()
	reads := body.reads
	rest, err := io.ReadAll(r)
	if string(first)+string(rest) != "text" || err != nil || body.reads != reads || body.closed != 1 {
		t.Errorf("read %q and %q, %v, in %d reads, of which %d are of the rest; closed %d times", first, rest, err, body.reads, body.reads-reads, body.closed)
	}
}
