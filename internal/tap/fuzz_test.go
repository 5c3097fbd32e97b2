// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/internal/wire"
)

// scriptedBody is a body that returns reads of the sizes in pace, repeatedly, and ends with err if
// that is not nil. It records what was read and whether it was closed.
type scriptedBody struct {
	rest []byte
	pace []byte
	err  error

	turn   int
	read   []byte
	closed bool
}

func (s *scriptedBody) Read(p []byte) (int, error) {
	switch {
	case s.closed:
		return 0, http.ErrBodyReadAfterClose
	case len(s.rest) == 0 && s.err != nil:
		return 0, s.err
	case len(s.rest) == 0:
		return 0, io.EOF
	}
	n := len(s.rest)
	if len(s.pace) > 0 {
		n = min(n, 1+int(s.pace[s.turn%len(s.pace)]))
		s.turn++
	}
	n = copy(p, s.rest[:n])
	s.read = append(s.read, p[:n]...)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *scriptedBody) Close() error {
	s.closed = true
	return nil
}

// How Consume reads the fuzzed response.
const (
	consumeAll   = iota // reads everything
	consumeSome         // reads a little and fails
	consumeList         // splits a list
	consumeWatch        // splits a watch
	consumers
)

var errFuzz = errors.New("consumer failed")

// maxErrorBody is Tap.MaxErrorBody in FuzzTap.
const maxErrorBody = 100

// FuzzTap passes a response of any status, headers and body to a tap. If the tap consumes it, the
// client reads the placeholder, or the consumer's error, and nothing of the body. Otherwise the
// client receives the response as the server sent it, except for Retry-After and the end of a long
// error.
func FuzzTap(f *testing.F) {
	const protobuf, stream = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf;stream=watch"
	list := []byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a","uid":"u"}}]}`)
	event := []byte(`{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}}` + "\n")
	f.Add(http.StatusOK, "application/json", "", "", list, []byte{3, 1}, byte(consumeList), false)
	f.Add(http.StatusOK, "application/json", "", "", event, []byte{0}, byte(consumeWatch), true)
	f.Add(http.StatusOK, protobuf, "", "", []byte("k8s\x00\x0a\x0d\x0a\x02v1\x12\x07PodList\x12\x07\x0a\x05\x12\x03123"), []byte{}, byte(consumeList), false)
	f.Add(http.StatusOK, stream, "", "", []byte("\x00\x00\x00\x02\x0a\x00"), []byte{1}, byte(consumeWatch), false)
	f.Add(http.StatusOK, "application/json", "br", "", list, []byte{}, byte(consumeAll), false)
	f.Add(http.StatusTooManyRequests, "application/json", "", "7", []byte("{}"), []byte{}, byte(consumeAll), false)
	f.Add(http.StatusForbidden, "text/html", "", "", bytes.Repeat([]byte("<html>"), maxErrorBody), []byte{}, byte(consumeAll), true)
	f.Add(http.StatusOK, "text/html", "", "1", []byte("<html>"), []byte{2}, byte(consumeSome), true)
	f.Fuzz(func(t *testing.T, status int, contentType, encoding, retryAfter string, sent, pace []byte, consumer byte, broken bool) {
		body := &scriptedBody{rest: sent, pace: pace}
		if broken {
			body.err = errFuzz
		}
		f := &fuzzedConsumer{consumer: consumer % consumers}
		tap := &Tap{Accepts: f.accepts, Consume: f.consume, PlaceholderType: func(string, string) string { return jsonType }, MaxErrorBody: maxErrorBody}
		header := http.Header{"Content-Type": {contentType}, "Content-Encoding": {encoding}, "Retry-After": {retryAfter}}
		next := roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: header.Clone(), Body: body, ContentLength: int64(len(sent))}, nil
		})
		response, err := Wrap(Wrap(next)).RoundTrip(requestWith(t, tap, "http://server"))
		if err != nil {
			t.Fatal(err)
		}
		read, readErr := io.ReadAll(response.Body)
		_, again := response.Body.Read(make([]byte, 1))
		if err := response.Body.Close(); err != nil || !body.closed {
			t.Fatalf("Close() = %v, server's body closed: %v", err, body.closed)
		}
		seen := tap.Finish()
		if want := status == http.StatusOK && encoding == "" && f.accepts(contentType); seen.Consumed != want {
			t.Fatalf("Consumed = %v, want %v for %d %q %q", seen.Consumed, want, status, contentType, encoding)
		}
		if again == nil {
			t.Fatal("Read after the end of the body returned no error")
		}
		if seen.Consumed {
			f.checkConsumed(t, response, sent, read, readErr, body)
		} else {
			f.checkUnchanged(t, response, header, seen, sent, read, readErr, broken)
		}
	})
}

// fuzzedConsumer consumes a response and records what it read and returned.
type fuzzedConsumer struct {
	consumer byte
	calls    int
	got      []byte
	err      error
}

func (f *fuzzedConsumer) accepts(contentType string) bool {
	_, ok := wire.FormatOf(contentType)
	return ok || f.consumer == consumeAll && strings.HasPrefix(contentType, "text/")
}

func (f *fuzzedConsumer) consume(contentType string, from io.ReadCloser, _ string) ([]byte, error) {
	f.calls++
	format, _ := wire.FormatOf(contentType)
	body := io.TeeReader(from, writer(func(p []byte) { f.got = append(f.got, p...) }))
	switch f.consumer {
	case consumeAll:
		_, f.err = io.Copy(io.Discard, body)
	case consumeSome:
		_, _ = io.ReadFull(body, make([]byte, 5))
		f.err = errFuzz
	case consumeList:
		_, f.err = wire.List(body, format, wire.Options{}, func(*wire.Item) error { return nil })
	case consumeWatch:
		f.err = wire.Watch(body, format, wire.Options{}, func(*wire.Event) error { return nil })
	}
	return []byte("placeholder"), f.err
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

func (f *fuzzedConsumer) checkConsumed(t *testing.T, response *http.Response, sent, read []byte, err error, body *scriptedBody) {
	t.Helper()
	switch {
	case f.calls != 1:
		t.Fatalf("Consume was called %d times", f.calls)
	case !bytes.Equal(f.got, body.read) || !bytes.HasPrefix(sent, f.got):
		t.Fatalf("consumer read %q, want %q, a prefix of %q", f.got, body.read, sent)
	case f.err != nil && (!errors.Is(err, f.err) || len(read) > 0):
		t.Fatalf("client read %q, %v; consumer returned %v", read, err, f.err)
	case f.err == nil && (err != nil || string(read) != "placeholder" || !bytes.Equal(f.got, sent)):
		t.Fatalf("client read %q, %v; consumer read %q of %q", read, err, f.got, sent)
	case response.Header.Get("Content-Type") != "application/json" || response.ContentLength != -1:
		t.Fatalf("placeholder has Content-Type %q and Content-Length %d", response.Header.Get("Content-Type"), response.ContentLength)
	}
}

func (f *fuzzedConsumer) checkUnchanged(t *testing.T, response *http.Response, header http.Header, seen Response, sent, read []byte, err error, broken bool) {
	t.Helper()
	want := header.Clone()
	if response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError {
		if seen.RetryAfter != header.Get("Retry-After") {
			t.Fatalf("Retry-After is %q, want %q", seen.RetryAfter, header.Get("Retry-After"))
		}
		want.Del("Retry-After")
	}
	readable, cutOff := sent, false
	if response.StatusCode != http.StatusOK {
		readable = sent[:min(len(sent), maxErrorBody)]
		cutOff = len(sent) >= maxErrorBody
	}
	for name := range header {
		if response.Header.Get(name) != want.Get(name) {
			t.Fatalf("%s is %q, want %q", name, response.Header.Get(name), want.Get(name))
		}
	}
	if f.calls > 0 || !bytes.Equal(read, readable) || (err != nil) != (broken && !cutOff) || response.ContentLength != int64(len(sent)) {
		t.Fatalf("client read %q, %v of %q; Consume was called %d times", read, err, sent, f.calls)
	}
}
