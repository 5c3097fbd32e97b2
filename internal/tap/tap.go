// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Tap diverts the response body of one request. A client may repeat the request, one attempt after
// the other.
type Tap struct {
	// Accept, if not empty, replaces the request's Accept header. Otherwise only CBOR is removed.
	Accept string
	// OnlyAccepted keeps the Accept header of a client that does not accept the first type of
	// Accept.
	OnlyAccepted bool
	// Accepts reports whether Consume can read bodies of a Content-Type.
	Accepts func(contentType string) bool
	// Consume reads the body of a 200 response and returns the placeholder for the client, of type
	// placeholderType. The client's Read returns its error. Consume is called at most once. It may
	// close the body once it needs no more of it; otherwise the client does.
	Consume func(contentType string, body io.ReadCloser, placeholderType string) (placeholder []byte, err error)
	// PlaceholderType returns the Content-Type of the placeholder for a response and for a client
	// that accepts some formats, by its Accept header.
	PlaceholderType func(contentType, accepted string) string
	// MaxErrorBody is the number of bytes that the client receives of the body of another response
	// than 200. Clients read such a body whole. The rest is cut off: the status code, which says
	// what has failed, precedes it. Zero cuts off nothing.
	MaxErrorBody int64

	mu       sync.Mutex // guards the fields below
	accepted string     // by the client
	response Response
	finished bool
}

// Response describes the last response to a request.
type Response struct {
	Intercepted bool   // the request passed through a transport returned by Wrap
	StatusCode  int    // 0 if there was no response
	ContentType string // as sent by the server
	Encoding    string // the Content-Encoding, unless the transport has decoded the body
	RetryAfter  string // the Retry-After header of a 429 or 5xx response, which the client does not receive
	Consumed    bool   // the body is diverted to Consume
}

// Finish returns the last response. It must be called after the client's call has returned. The tap
// diverts no body after that, so a client that makes further requests by itself, such as one that
// resumes a watch, reads their responses itself.
func (t *Tap) Finish() Response {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finished = true
	return t.response
}

type contextKey struct{}

// With returns a context for a request whose response body is diverted to t.
func With(ctx context.Context, t *Tap) context.Context {
	return context.WithValue(ctx, contextKey{}, t)
}

// Detect returns a context for requests that are not diverted, and a function that reports whether
// one of them has passed through a transport returned by Wrap.
func Detect(ctx context.Context) (request context.Context, hasTap func() bool) {
	passed := new(atomic.Bool)
	return context.WithValue(ctx, detectKey{}, passed), passed.Load
}

type detectKey struct{}

// WithPath returns a context of requests whose paths are passed to a function, each before it is
// sent, if they pass through a transport returned by Wrap.
func WithPath(ctx context.Context, record func(path string)) context.Context {
	return context.WithValue(ctx, pathKey{}, record)
}

type pathKey struct{}

// Wrap returns a transport that serves the taps in the contexts of its requests. If next is wrapped
// already, the outer transport serves the tap.
func Wrap(next http.RoundTripper) http.RoundTripper { return &transport{next} }

// WrapRequested is Wrap for a program that has asked for streaming. Requested reports it
// afterwards.
func WrapRequested(next http.RoundTripper) http.RoundTripper {
	requested.Store(true)
	return Wrap(next)
}

// In reports whether a transport, or one that it wraps, serves taps. A transport shows what it
// wraps by the method WrappedRoundTripper.
func In(t http.RoundTripper) bool {
	for range maxWrappers {
		if _, ok := t.(*transport); ok {
			return true
		}
		wrapper, ok := t.(utilnet.RoundTripperWrapper)
		if !ok {
			return false
		}
		t = wrapper.WrappedRoundTripper()
	}
	return false
}

// maxWrappers bounds the search for a tap: a transport may say that it wraps itself.
const maxWrappers = 100

var requested atomic.Bool //nolint:gochecknoglobals // only read to decide about a warning

// Requested reports whether the program has called WrapRequested.
func Requested() bool { return requested.Load() }

type transport struct{ next http.RoundTripper }

// WrappedRoundTripper returns the wrapped transport. It implements
// k8s.io/apimachinery/pkg/util/net.RoundTripperWrapper.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if passed, ok := request.Context().Value(detectKey{}).(*atomic.Bool); ok {
		passed.Store(true)
	}
	if record, ok := request.Context().Value(pathKey{}).(func(string)); ok {
		record(request.URL.Path)
	}
	tap, _ := request.Context().Value(contextKey{}).(*Tap)
	if tap == nil {
		return t.next.RoundTrip(request)
	}
	response, err := t.next.RoundTrip(tap.prepare(request))
	if isRepeated(err) {
		err = &failure{tap, err}
	}
	if err != nil {
		return response, err
	}
	tap.intercept(response)
	return response, nil
}

// prepare records a request and returns the request to send. That has no tap in its context.
func (t *Tap) prepare(request *http.Request) *http.Request {
	accepted := strings.Join(request.Header.Values("Accept"), ",")
	t.mu.Lock()
	t.response.Intercepted, t.accepted = true, accepted
	t.mu.Unlock()
	request = request.WithContext(With(request.Context(), nil))
	accept := t.Accept
	if accept == "" || t.OnlyAccepted && !accepts(accepted, accept) {
		accept = withoutCBOR(accepted)
	}
	if accept != "" {
		request.Header = request.Header.Clone()
		request.Header.Set("Accept", accept)
	}
	return request
}

// intercept records a response, and replaces its body if Consume can read it.
func (t *Tap) intercept(response *http.Response) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.finished || t.response.Consumed { // Consumed by an earlier attempt
		return
	}
	t.response = Response{
		Intercepted: true,
		StatusCode:  response.StatusCode,
		ContentType: response.Header.Get("Content-Type"),
		Encoding:    response.Header.Get("Content-Encoding"),
	}
	if response.StatusCode != http.StatusOK {
		t.takeRetryAfter(response)
		if response.Body != nil && t.MaxErrorBody > 0 {
			response.Body = cutOff{io.LimitReader(response.Body, t.MaxErrorBody), response.Body}
		}
		return
	}
	if response.Body == nil || t.response.Encoding != "" || !t.Accepts(t.response.ContentType) {
		return
	}
	t.response.Consumed = true
	placeholderType := t.PlaceholderType(t.response.ContentType, t.accepted)
	response.Body = &body{tap: t, real: &closedOnce{ReadCloser: response.Body}, contentType: t.response.ContentType, placeholderType: placeholderType}
	response.ContentLength = -1
	response.Header.Del("Content-Length")
	response.Header.Set("Content-Type", placeholderType)
	response.Header.Set("Cache-Control", "no-store") // a cache must not serve the placeholder
}

// takeRetryAfter removes the Retry-After header. With it, client-go would retry ten times by
// itself, in addition to the backoff of the caller.
func (t *Tap) takeRetryAfter(response *http.Response) {
	if response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError {
		t.response.RetryAfter = response.Header.Get("Retry-After")
		response.Header.Del("Retry-After")
	}
}

// cutOff is the beginning of a body.
type cutOff struct {
	io.Reader
	io.Closer
}

// closedOnce is a body that is closed once, by Consume or by the client.
type closedOnce struct {
	io.ReadCloser

	once sync.Once
	err  error
}

func (c *closedOnce) Close() error {
	c.once.Do(func() { c.err = c.ReadCloser.Close() })
	return c.err
}

// body is the response body that the client reads.
type body struct {
	tap             *Tap
	real            io.ReadCloser
	contentType     string
	placeholderType string

	started     atomic.Bool // set by the first Read or by Close
	placeholder bytes.Reader
	err         error
}

// Read calls Consume first, and then reads the placeholder.
func (b *body) Read(p []byte) (int, error) {
	if b.started.CompareAndSwap(false, true) {
		placeholder, err := b.tap.Consume(b.contentType, b.real, b.placeholderType)
		b.placeholder.Reset(placeholder)
		b.err = err
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.placeholder.Read(p)
}

// Close closes the server's body. The next read of a running Consume fails. If Consume has not
// started, it never will.
func (b *body) Close() error {
	b.started.Store(true)
	return b.real.Close()
}

// isRepeated reports whether client-go would repeat a request that failed with err, ten times by
// itself, in addition to the backoff of the caller.
func isRepeated(err error) bool {
	return utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) || utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err)
}

// failure is the error of a request that the client would repeat. It hides its cause until Finish.
type failure struct {
	tap *Tap
	err error
}

// Error implements error.
func (f *failure) Error() string {
	if err := f.Unwrap(); err != nil {
		return err.Error()
	}
	return "the connection broke, or the request has timed out"
}

// Unwrap returns the error after Finish.
func (f *failure) Unwrap() error {
	f.tap.mu.Lock()
	defer f.tap.mu.Unlock()
	if !f.tap.finished {
		return nil
	}
	return f.err
}

// Timeout reports, for url.Error, whether the request has timed out.
func (f *failure) Timeout() bool {
	var timeout interface{ Timeout() bool }
	return errors.As(f.Unwrap(), &timeout) && timeout.Timeout()
}
