package tap

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// Tap is one request's wish for its answer's body. It is for one request, and for
// the attempts that a client makes of it, one after the other.
type Tap struct {
	// Accept, if not empty, replaces the request's Accept header.
	Accept string
	// Wants tells whether Consume understands bodies of a Content-Type.
	Accepts func(contentType string) bool
	// Consume reads the body of a 200 answer and returns what the client is to
	// read instead, as StandInType. Its error is what the client's read fails
	// with. It is called at most once.
	Consume func(contentType string, body io.Reader) (standIn []byte, err error)
	// StandInType is the Content-Type of what Consume returns.
	PlaceholderType string

	mu       sync.Mutex // guards the rest
	answer   Response
	finished bool
}

// Answer is what was seen of the last answer to a request.
type Response struct {
	Intercepted     bool   // a request came through the tap
	StatusCode  int    // zero: none was answered
	ContentType string // as the server sent it
	Encoding    string // the Content-Encoding, where the transport has not undone it
	RetryAfter  string // the header of a 429 or 5xx, which the client does not get to see
	Consumed       bool   // Consume gets the body
}

// Finish returns what was seen, once the client's call has returned. No other
// body is taken after that: a client that goes on by itself, as one that resumes
// watches, reads its later answers itself.
func (t *Tap) Finish() Response {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finished = true
	return t.answer
}

type contextKey struct{}

// With returns a context whose request's body goes to t.
func With(ctx context.Context, t *Tap) context.Context {
	return context.WithValue(ctx, contextKey{}, t)
}

// Wrap returns a transport that serves the taps it finds in requests' contexts.
// Wrapping twice is harmless: the outer one serves, and hides the tap from those
// underneath.
func Wrap(next http.RoundTripper) http.RoundTripper { return &transport{next} }

type transport struct{ next http.RoundTripper }

// WrappedRoundTripper returns the transport underneath, for those who look for it
// as apimachinery's net utilities do.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip makes the request and taps the answer.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	wish, _ := request.Context().Value(contextKey{}).(*Tap)
	if wish == nil {
		return t.next.RoundTrip(request)
	}
	response, err := t.next.RoundTrip(wish.prepare(request))
	if err == nil {
		wish.see(response)
	}
	return response, err
}

// prepare notes a request and returns the one to make in its place.
func (t *Tap) prepare(request *http.Request) *http.Request {
	t.mu.Lock()
	t.answer.Intercepted = true
	t.mu.Unlock()
	request = request.WithContext(With(request.Context(), nil))
	if t.Accept != "" {
		request.Header = request.Header.Clone()
		request.Header.Set("Accept", t.Accept)
	}
	return request
}

// see notes an answer, and takes its body if it is one that Consume wants.
func (t *Tap) see(response *http.Response) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.finished || t.answer.Consumed { // in the second case by an attempt before this one
		return
	}
	t.answer = Response{
		Intercepted:     true,
		StatusCode:  response.StatusCode,
		ContentType: response.Header.Get("Content-Type"),
		Encoding:    response.Header.Get("Content-Encoding"),
	}
	if response.StatusCode != http.StatusOK {
		t.takeRetryAfter(response)
		return
	}
	if response.Body == nil || t.answer.Encoding != "" || !t.Accepts(t.answer.ContentType) {
		return
	}
	t.answer.Consumed = true
	response.Body = &body{tap: t, real: response.Body, contentType: t.answer.ContentType}
	response.ContentLength = -1
	response.Header.Del("Content-Length")
	response.Header.Set("Content-Type", t.PlaceholderType)
	response.Header.Set("Cache-Control", "no-store") // a stand-in is nobody else's answer
}

// takeRetryAfter keeps the header from the client: client-go would retry ten
// times by itself, unseen by whoever spaces the attempts.
func (t *Tap) takeRetryAfter(response *http.Response) {
	if response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError {
		t.answer.RetryAfter = response.Header.Get("Retry-After")
		response.Header.Del("Retry-After")
	}
}

// body is the answer's body as the client reads it.
type body struct {
	tap         *Tap
	real        io.ReadCloser
	contentType string

	begun   atomic.Bool // by Read, or by Close, which leaves nothing to read
	standIn bytes.Reader
	err     error
}

// Read runs Consume first.
func (b *body) Read(p []byte) (int, error) {
	if b.begun.CompareAndSwap(false, true) {
		standIn, err := b.tap.Consume(b.contentType, b.real)
		b.standIn.Reset(standIn)
		b.err = err
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.standIn.Read(p)
}

// Close closes the real body. Consume, if it runs, fails with its next read; if
// it has not begun, it never will.
func (b *body) Close() error {
	b.begun.Store(true)
	return b.real.Close()
}
