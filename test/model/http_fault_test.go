// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// Faults of the bytes of an answer.
const (
	faultCut         = "answer is cut"       // after Bytes, without an error
	faultReset       = "connection is reset" // after Bytes
	faultTrickle     = "trickle"             // a byte a second after Bytes
	faultSlowBody    = "slow body"           // 20 bytes a second after Bytes
	faultSilence     = "silence"             // no more bytes after Bytes
	faultGarbage     = "garbage"             // a page of HTML with the expected Content-Type
	faultContentType = "another Content-Type"
)

var byteFaults = []string{faultCut, faultReset, faultTrickle, faultSlowBody, faultSilence, faultGarbage, faultContentType}

// bytesPerSecond is the speed of slow answers.
var bytesPerSecond = map[string]int{faultTrickle: 1, faultSlowBody: 20}

// body writes the body of an answer, with its faults.
type body struct {
	http.ResponseWriter
	request *http.Request
	model   *server
	format  cachetest.Format
	faults  []fault
	sent    int
	// The connection breaks if the server is restored, and becomes fast if the faults are healed.
	epoch, heals int
}

// begin sends the header, and reports whether the body follows.
func (b *body) begin(contentType string) bool {
	if hasFault(b.faults, faultContentType) {
		contentType = "text/html"
	}
	b.Header().Set("Content-Type", contentType)
	b.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(b.ResponseWriter).Flush()
	if hasFault(b.faults, faultGarbage) {
		_, _ = b.ResponseWriter.Write([]byte("<html><body>Please log in</body></html>"))
		return false
	}
	return b.misbehave() == nil
}

// Write writes a part of the body, in smaller parts where faults begin.
func (b *body) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if err := b.misbehave(); err != nil {
			return 0, err
		}
		n := min(len(rest), b.undisturbed())
		if _, err := b.ResponseWriter.Write(rest[:n]); err != nil {
			return 0, err
		}
		_ = http.NewResponseController(b.ResponseWriter).Flush()
		b.sent, rest = b.sent+n, rest[n:]
	}
	return len(p), nil
}

// undisturbed returns how many bytes may be sent before the next fault.
func (b *body) undisturbed() int {
	n := math.MaxInt
	for _, f := range b.faults {
		if f.Bytes > b.sent {
			n = min(n, f.Bytes-b.sent)
		} else if speed := bytesPerSecond[f.Kind]; speed > 0 && !b.isHealed() {
			n = min(n, speed)
		}
	}
	return n
}

var errCut = errors.New("the answer is cut")

// misbehave does what the faults do after the bytes sent so far.
func (b *body) misbehave() error {
	for _, f := range b.faults {
		if f.Bytes > b.sent {
			continue
		}
		switch f.Kind {
		case faultCut:
			return errCut
		case faultReset:
			panic(http.ErrAbortHandler)
		case faultSilence:
			<-b.request.Context().Done()
		case faultTrickle, faultSlowBody:
			b.pause()
		}
	}
	if epoch, _ := b.model.phase(); epoch != b.epoch {
		panic(http.ErrAbortHandler)
	}
	return b.request.Context().Err()
}

// pause waits for a second, unless the faults are healed.
func (b *body) pause() {
	if b.isHealed() {
		return
	}
	select {
	case <-time.After(time.Second):
	case <-b.request.Context().Done():
	}
}

func (b *body) isHealed() bool {
	_, heals := b.model.phase()
	return heals != b.heals
}

// phase returns the number of epochs, and how often all faults were healed.
func (s *server) phase() (epoch, heals int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.world.epochs), s.heals
}
