// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// maxAttempts bounds the attempts of a request, as in client-go.
	maxAttempts = 10
	// defaultRetryAfter is the wait after a 429 that does not say how long to wait.
	defaultRetryAfter = 5 * time.Second
	// maxRetryAfter is the longest wait that the transport accepts.
	maxRetryAfter = 10 * time.Minute
)

// ErrNoAnswer is the error for a request that the server has not answered completely in time.
var ErrNoAnswer = errors.New("no complete answer")

// pacedTransport sends one request at a time, which ends when the response's body is closed, paces
// them, and repeats those that the server asks to repeat later. It makes the context of the command
// that of each request, which client-go's discovery client cannot do.
type pacedTransport struct {
	ctx     context.Context
	base    http.RoundTripper
	options Options
	limiter *rate.Limiter
	slot    chan struct{} // holds a value while there is a request
}

func newPacedTransport(ctx context.Context, base http.RoundTripper, options Options) *pacedTransport {
	return &pacedTransport{ctx: ctx, base: base, options: options, limiter: rate.NewLimiter(rate.Limit(options.QPS), 1), slot: make(chan struct{}, 1)}
}

// RoundTrip implements http.RoundTripper, for requests without a body.
func (t *pacedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	select {
	case t.slot <- struct{}{}:
	case <-t.ctx.Done():
		return nil, context.Cause(t.ctx)
	}
	release := sync.OnceFunc(func() { <-t.slot })
	response, err := t.repeat(request)
	if err != nil {
		release()
		return nil, err
	}
	response.Body = &closer{response.Body, release}
	return response, nil
}

// repeat sends a request until the server does not ask to repeat it.
func (t *pacedTransport) repeat(request *http.Request) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		if err := t.limiter.Wait(t.ctx); err != nil {
			return nil, t.cause(err)
		}
		response, err := t.send(request)
		if err != nil {
			return nil, t.cause(err)
		}
		wait, ok := retryAfter(response)
		if !ok {
			return response, nil
		}
		if attempt == maxAttempts {
			response.Header.Del("Retry-After") // else client-go would repeat it as often once more
			return response, nil
		}
		response.Body.Close()
		if err := t.wait(wait, response.StatusCode); err != nil {
			return nil, err
		}
	}
}

// CloseIdleConnections implements the method that http.Client looks for.
func (t *pacedTransport) CloseIdleConnections() {
	if closer, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// send sends a request once, with a time limit that includes the response's body.
func (t *pacedTransport) send(request *http.Request) (*http.Response, error) {
	err := fmt.Errorf("%w within %v, see --request-timeout", ErrNoAnswer, t.options.Timeout)
	ctx, cancel := context.WithTimeoutCause(t.ctx, t.options.Timeout, err)
	response, err := t.base.RoundTrip(request.WithContext(ctx))
	if err != nil {
		defer cancel()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	response.Body = &body{ReadCloser: response.Body, ctx: ctx, cancel: cancel}
	return response, nil
}

// wait waits as the server asked. A wait that is too long is an error.
func (t *pacedTransport) wait(wait time.Duration, status int) error {
	if wait > maxRetryAfter {
		return fmt.Errorf("the server asks to wait %v (HTTP status %d), more than %v", wait.Round(time.Second), status, maxRetryAfter)
	}
	if t.options.OnWait != nil {
		t.options.OnWait(wait, status)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	}
}

// cause returns the reason for the end of the command if it has ended, otherwise err.
func (t *pacedTransport) cause(err error) error {
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	return err
}

// retryAfter returns how long to wait before a request is repeated, and whether it is to be
// repeated: after 429, and after a server error with a Retry-After header.
func retryAfter(response *http.Response) (time.Duration, bool) {
	wait, named := parseRetryAfter(response.Header.Get("Retry-After"))
	switch code := response.StatusCode; {
	case code == http.StatusTooManyRequests && !named:
		return defaultRetryAfter, true
	case code == http.StatusTooManyRequests, code >= http.StatusInternalServerError && named:
		return wait, true
	}
	return 0, false
}

// parseRetryAfter returns the time of a Retry-After header, which has seconds or a date, and
// whether it is valid. More seconds than a Duration can hold are the longest one.
func parseRetryAfter(value string) (time.Duration, bool) {
	if date, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(date)), true
	}
	seconds, err := strconv.ParseUint(value, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return time.Duration(min(seconds, math.MaxInt64/uint64(time.Second))) * time.Second, true //nolint:gosec // fits
}

// closer calls a function after a body is closed.
type closer struct {
	io.ReadCloser
	closed func()
}

func (c *closer) Close() error {
	defer c.closed()
	return c.ReadCloser.Close()
}

// body releases the context of its request when it is closed, and replaces the error of one that
// has ended by its cause.
type body struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelFunc
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && b.ctx.Err() != nil {
		err = context.Cause(b.ctx)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.cancel()
	return err
}
