// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// answer is what a server sends to one request.
type answer struct {
	code       int
	retryAfter string
}

// scripted is a transport with prepared answers. After them it answers 200.
type scripted struct {
	answers []answer
	at      []time.Duration // when the requests arrived
	start   time.Time
}

func (s *scripted) RoundTrip(*http.Request) (*http.Response, error) {
	s.at = append(s.at, time.Since(s.start))
	next := answer{code: http.StatusOK}
	if len(s.answers) > 0 {
		next, s.answers = s.answers[0], s.answers[1:]
	}
	response := &http.Response{StatusCode: next.code, Header: http.Header{}, Body: http.NoBody}
	if next.retryAfter != "" {
		response.Header.Set("Retry-After", next.retryAfter)
	}
	return response, nil
}

// send sends requests through a paced transport in a bubble, and returns when they arrived and the
// last response.
func send(t *testing.T, requests int, options Options, script *scripted) *http.Response {
	t.Helper()
	script.start = time.Now()
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	transport := newPacedTransport(t.Context(), script, options)
	var last *http.Response
	for range requests {
		response, err := transport.RoundTrip(request(t))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		last = response
	}
	return last
}

func request(t *testing.T) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://server/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func expectTimes(t *testing.T, got []time.Duration, want ...time.Duration) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("requests at %v, want %v", got, want)
	}
	for i := range want {
		if difference := got[i] - want[i]; difference < 0 || difference > time.Millisecond {
			t.Errorf("requests at %v, want %v", got, want)
		}
	}
}

func TestRequestsArePacedWithoutBursts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &scripted{}
		send(t, 4, Options{QPS: 5}, script)
		expectTimes(t, script.at, 0, 200*time.Millisecond, 400*time.Millisecond, 600*time.Millisecond)
	})
}

func TestOneRequestAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &scripted{}
		transport := newPacedTransport(t.Context(), script, Options{QPS: 1000, Timeout: defaultTimeout})
		first, err := transport.RoundTrip(request(t))
		if err != nil {
			t.Fatal(err)
		}
		second := make(chan *http.Response, 1)
		go func() {
			response, err := transport.RoundTrip(request(t))
			if err != nil {
				t.Error(err)
			}
			second <- response
		}()
		<-time.After(time.Hour) // in the bubble
		if got := len(script.at); got != 1 {
			t.Errorf("%d requests before the first has ended", got)
		}
		first.Body.Close()
		first.Body.Close()
		(<-second).Body.Close()
	})
}

func TestRetryAfterIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &scripted{answers: []answer{{429, "7"}, {503, "2"}, {429, ""}}}
		var waits []time.Duration
		options := Options{QPS: 100, OnWait: func(wait time.Duration, _ int) { waits = append(waits, wait) }}
		if response := send(t, 1, options, script); response.StatusCode != http.StatusOK {
			t.Errorf("status %d, want 200", response.StatusCode)
		}
		expectTimes(t, script.at, 0, 7*time.Second, 9*time.Second, 14*time.Second)
		if want := []time.Duration{7 * time.Second, 2 * time.Second, 5 * time.Second}; !slices.Equal(waits, want) {
			t.Errorf("OnWait called with %v, want %v", waits, want)
		}
	})
}

func TestDateOfRetryAfterIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &scripted{answers: []answer{{429, time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)}}}
		send(t, 1, Options{QPS: 100}, script)
		expectTimes(t, script.at, 0, time.Minute)
	})
}

func TestLongRetryAfterIsAnError(t *testing.T) {
	for value, want := range map[string]string{
		"601":                     "asks to wait 10m1s (HTTP status 429), more than 10m0s",
		"9223372036854775807":     "asks to wait 2562047h47m16s",
		"99999999999999999999999": "asks to wait 2562047h47m16s",
	} {
		synctest.Test(t, func(t *testing.T) {
			script := &scripted{answers: []answer{{429, value}}, start: time.Now()}
			_, err := newPacedTransport(t.Context(), script, Options{QPS: 5, Timeout: defaultTimeout}).RoundTrip(request(t)) //nolint:bodyclose // fails
			if err == nil || !strings.Contains(err.Error(), want) || len(script.at) != 1 {
				t.Errorf("%s: error %v after %d requests, want %q", value, err, len(script.at), want)
			}
		})
	}
}

func TestOtherErrorsAreNotRetried(t *testing.T) {
	for _, code := range []int{400, 403, 404, 410, 500, 503} {
		synctest.Test(t, func(t *testing.T) {
			script := &scripted{answers: []answer{{code, ""}}}
			if response := send(t, 1, Options{QPS: 5}, script); response.StatusCode != code {
				t.Errorf("status %d, want %d", response.StatusCode, code)
			}
			expectTimes(t, script.at, 0)
		})
	}
}

// TestRetriesAreBounded also checks that client-go does not retry once more: it does only with the
// header.
func TestRetriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &scripted{}
		for range 100 {
			script.answers = append(script.answers, answer{429, "1"})
		}
		response := send(t, 1, Options{QPS: 5}, script)
		if len(script.at) != maxAttempts || response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") != "" {
			t.Errorf("status %d, header %v after %d requests", response.StatusCode, response.Header, len(script.at))
		}
	})
}

func TestCanceledContextEndsEveryWait(t *testing.T) {
	interrupted := errors.New("interrupted")
	for name, c := range map[string]struct {
		answers []answer
		qps     float64
	}{
		"of the server": {[]answer{{429, "600"}}, 100},
		"of the pace":   {[]answer{{429, "0"}}, 0.001},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(interrupted) })
				began := time.Now()
				script := &scripted{answers: c.answers, start: began}
				_, err := newPacedTransport(ctx, script, Options{QPS: c.qps, Timeout: defaultTimeout}).RoundTrip(request(t)) //nolint:bodyclose // fails
				if !errors.Is(err, interrupted) || time.Since(began) != time.Second {
					t.Errorf("%v after %v, want %v after 1s", err, time.Since(began), interrupted)
				}
			})
		})
	}
}

// blockedBody is a body of which nothing arrives.
type blockedBody struct{ ctx context.Context }

func (b blockedBody) Read([]byte) (int, error) { <-b.ctx.Done(); return 0, b.ctx.Err() }
func (b blockedBody) Close() error             { return nil }

func TestTimeoutIncludesTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: blockedBody{r.Context()}}, nil
		})
		response, err := newPacedTransport(t.Context(), base, Options{QPS: 5, Timeout: time.Minute}).RoundTrip(request(t))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		began := time.Now()
		if _, err := io.ReadAll(response.Body); err == nil || !strings.Contains(err.Error(), "no complete answer within 1m0s") {
			t.Errorf("%v, want the time limit", err)
		}
		if time.Since(began) != time.Minute {
			t.Errorf("ended after %v, want 1m", time.Since(began))
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
