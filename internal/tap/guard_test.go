// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestGuardChecksUpdates covers requests of several transports with one function of NewWrap: a
// guard checks the bodies of updates that are in memory, and no other requests.
func TestGuardChecksUpdates(t *testing.T) {
	refused, active, checked := errors.New("refused"), true, ""
	guard := &Guard{
		Active: func() bool { return active },
		Check: func(_ *http.Request, body []byte) error {
			if checked = string(body); checked == "bad" {
				return refused
			}
			return nil
		},
	}
	sent := ""
	next := roundTripper(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		sent = string(body)
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, err
	})
	wrap := NewWrap()
	informer, client, other := wrap(next), wrap(next), Wrap(next)
	do := func(transport http.RoundTripper, method, body string, inMemory bool) error {
		t.Helper()
		checked, sent = "", ""
		request, err := http.NewRequestWithContext(t.Context(), method, "http://server/api", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		recorder := &scriptedBody{rest: []byte(body)}
		if request.Body = recorder; !inMemory {
			request.GetBody = nil // as of a stream
		}
		response, err := transport.RoundTrip(request)
		if err != nil && !recorder.closed {
			t.Error("the body of the refused request was not closed")
		}
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	}
	expect := func(name string, transport http.RoundTripper, method, body string, inMemory, isChecked bool, want error) {
		t.Helper()
		err := do(transport, method, body, inMemory)
		if !errors.Is(err, want) || (checked == body) != isChecked || (sent == body) != (want == nil) {
			t.Errorf("%s: error %v, checked %q, sent %q", name, err, checked, sent)
		}
	}
	expect("before the guard", client, http.MethodPut, "bad", true, false, nil)
	tap := &Tap{Guard: guard, Accepts: func(string) bool { return false }}
	list := requestWith(t, tap, "http://server/api")
	for range 2 { // each request of an informer
		response, err := informer.RoundTrip(list)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	expect("bad", client, http.MethodPut, "bad", true, true, refused)
	expect("good", client, http.MethodPut, "good", true, true, nil)
	expect("create", client, http.MethodPost, "bad", true, false, nil)
	expect("stream", client, http.MethodPut, "bad", false, false, nil)
	expect("another client", other, http.MethodPut, "bad", true, false, nil)
	active = false
	expect("stopped", client, http.MethodPut, "bad", true, false, nil)
	if n := len(client.(*transport).guards.active); n != 0 {
		t.Errorf("%d guards are kept after the informer has stopped", n)
	}
}
