// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A client must be able to detect a truncated answer. If nothing was sent, abort returns the error;
// otherwise it closes the connection.
func TestAbortDoesNotLeaveTruncatedAnswer(t *testing.T) {
	broken := errors.New("broken")
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	small := (&Handler{}).compressor(httptest.NewRecorder(), request)
	if _, err := small.Write([]byte("some")); err != nil {
		t.Fatal(err)
	}
	if err := small.abort(broken); !errors.Is(err, broken) {
		t.Errorf("abort before sending: got %v, want %v", err, broken)
	}

	large := (&Handler{}).compressor(httptest.NewRecorder(), request)
	if _, err := large.Write(make([]byte, compressFrom)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if p, ok := recover().(error); !ok || !errors.Is(p, http.ErrAbortHandler) {
			t.Errorf("abort after sending: got panic %v, want http.ErrAbortHandler", p)
		}
	}()
	_ = large.abort(broken)
}
