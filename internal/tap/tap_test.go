// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kinformer/kinformer/internal/testing/goroutines"
)

func TestMain(m *testing.M) { goroutines.VerifyTestMain(m) }

// get makes a request with a tap through the server's transport wrapped by wraps.
func get(t *testing.T, tap *Tap, handler http.HandlerFunc, wraps ...func(http.RoundTripper) http.RoundTripper) (*http.Response, string, error) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	transport := server.Client().Transport
	for _, wrap := range wraps {
		transport = wrap(transport)
	}
	request := requestWith(t, tap, server.URL)
	request.Header.Set("Accept", "text/plain")
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if got := request.Header.Get("Accept"); got != "text/plain" {
		t.Errorf("Accept of the client's request became %q", got)
	}
	return response, string(body), err
}

// requestWith returns a request with a tap, or without one if it is nil.
func requestWith(t *testing.T, tap *Tap, url string) *http.Request {
	t.Helper()
	ctx := t.Context()
	if tap != nil {
		ctx = With(ctx, tap)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

// plainTextTap returns a tap that appends text/plain bodies to got.
func plainTextTap(got *string) *Tap {
	return &Tap{
		Accepts: func(contentType string) bool { return strings.HasPrefix(contentType, "text/plain") },
		Consume: func(_ string, body io.ReadCloser, _ string) ([]byte, error) {
			all, err := io.ReadAll(body)
			*got += string(all)
			return []byte("placeholder"), err
		},
		PlaceholderType: func(string, string) string { return jsonType },
	}
}

func serveText(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, "the body")
}

func TestTapReceivesBodyAndClientReceivesPlaceholder(t *testing.T) {
	for name, wraps := range map[string][]func(http.RoundTripper) http.RoundTripper{
		"wrapped once":  {Wrap},
		"wrapped twice": {Wrap, Wrap},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			tap := plainTextTap(&got)
			response, read, err := get(t, tap, serveText, wraps...)
			if err != nil || read != "placeholder" || got != "the body" {
				t.Errorf("client read %q, %v; tap read %q", read, err, got)
			}
			if response.Header.Get("Content-Type") != "application/json" || response.ContentLength != -1 {
				t.Errorf("placeholder has Content-Type %q and Content-Length %d", response.Header.Get("Content-Type"), response.ContentLength)
			}
			if got := response.Header.Get("Cache-Control"); got != "no-store" {
				t.Errorf("placeholder has Cache-Control %q, want no-store", got)
			}
			if response := tap.Finish(); response != (Response{Intercepted: true, StatusCode: 200, ContentType: "text/plain", Consumed: true}) {
				t.Errorf("Finish() = %+v", response)
			}
		})
	}
}

func TestResponsesNotDiverted(t *testing.T) {
	var got string
	t.Run("no tap in the context", func(t *testing.T) {
		if _, read, err := get(t, nil, serveText, Wrap); err != nil || read != "the body" {
			t.Errorf("client read %q, %v", read, err)
		}
	})
	t.Run("another Content-Type", func(t *testing.T) {
		tap := plainTextTap(&got)
		_, read, err := get(t, tap, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/cbor")
			_, _ = io.WriteString(w, "cbor")
		}, Wrap)
		if response := tap.Finish(); err != nil || read != "cbor" || response.Consumed || response.ContentType != "application/cbor" {
			t.Errorf("client read %q, %v; response %+v", read, err, response)
		}
	})
	t.Run("Content-Encoding", func(t *testing.T) {
		tap := plainTextTap(&got)
		_, read, err := get(t, tap, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			serveText(w, r)
		}, Wrap)
		if response := tap.Finish(); err != nil || read != "the body" || response.Consumed || response.Encoding != "br" {
			t.Errorf("client read %q, %v; response %+v", read, err, response)
		}
	})
	t.Run("finished before the response", func(t *testing.T) {
		tap := plainTextTap(&got)
		_, read, err := get(t, tap, func(w http.ResponseWriter, r *http.Request) {
			tap.Finish()
			serveText(w, r)
		}, Wrap)
		if err != nil || read != "the body" || tap.Finish().Consumed {
			t.Errorf("client read %q, %v; response %+v", read, err, tap.Finish())
		}
	})
	t.Run("another status", func(t *testing.T) {
		tap := plainTextTap(&got)
		_, read, err := get(t, tap, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusGone)
			serveText(w, r)
		}, Wrap)
		if err != nil || read != "the body" || tap.Finish().Consumed {
			t.Errorf("client read %q, %v; response %+v", read, err, tap.Finish())
		}
	})
	if got != "" {
		t.Errorf("tap read %q", got)
	}
}

func TestRetryAfterIsRemovedFromRetriableErrors(t *testing.T) {
	for status, removed := range map[int]bool{429: true, 500: true, 503: true, 409: false} {
		var got string
		tap := plainTextTap(&got)
		response, _, _ := get(t, tap, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(status)
		}, Wrap, Wrap)
		inTap, inResponse := tap.Finish().RetryAfter == "7", response.Header.Get("Retry-After") == "7"
		if inTap != removed || inResponse == removed {
			t.Errorf("%d: tap has Retry-After: %v, client has it: %v; want it removed: %v", status, inTap, inResponse, removed)
		}
	}
}

// TestOneAttemptIsConsumed repeats a request. Consume runs for the first successful response only.
func TestOneAttemptIsConsumed(t *testing.T) {
	var got string
	tap := plainTextTap(&got)
	twice := func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			first, err := next.RoundTrip(request)
			if err != nil {
				return nil, err
			}
			first.Body.Close()
			return next.RoundTrip(request)
		})
	}
	if _, read, err := get(t, tap, serveText, Wrap, twice); err != nil || read != "the body" || got != "" {
		t.Errorf("client read %q, %v; tap read %q", read, err, got)
	}

	tap, statuses := plainTextTap(&got), []int{http.StatusTooManyRequests, http.StatusOK}
	_, read, err := get(t, tap, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(statuses[0])
		statuses = statuses[1:]
		_, _ = io.WriteString(w, "the body")
	}, Wrap, twice)
	if err != nil || read != "placeholder" || got != "the body" || tap.Finish().StatusCode != http.StatusOK {
		t.Errorf("client read %q, %v; tap read %q; response %+v", read, err, got, tap.Finish())
	}
}

// TestFailedRequestIsIntercepted checks that the client cannot read why a request failed, as it
// would repeat it for some reasons, and that the caller can.
func TestFailedRequestIsIntercepted(t *testing.T) {
	reset := &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	tap := plainTextTap(new(string))
	failing := roundTripper(func(*http.Request) (*http.Response, error) { return nil, reset })
	_, err := Wrap(failing).RoundTrip(requestWith(t, tap, "http://server")) //nolint:bodyclose // there is none
	if utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) {
		t.Errorf("error %v, which the client repeats", err)
	}
	if response := tap.Finish(); response != (Response{Intercepted: true}) {
		t.Errorf("Finish() = %+v", response)
	}
	if !errors.Is(err, reset) || err.Error() != reset.Error() {
		t.Errorf("error %v, want %v", err, reset)
	}
}

// TestErrorThatIsNotRepeatedIsNotHidden checks that the caller's functions, which run before
// Finish, receive an error that the client does not repeat: they may put its text into another
// error, and net/http explains a TLS error by its type.
func TestErrorThatIsNotRepeatedIsNotHidden(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for _, want := range []error{refused, tls.RecordHeaderError{Msg: "no TLS"}, context.Canceled, errors.New("x509: unknown authority")} {
		failing := roundTripper(func(*http.Request) (*http.Response, error) { return nil, want })
		request := requestWith(t, plainTextTap(new(string)), "http://server")
		if _, err := Wrap(failing).RoundTrip(request); err != want { //nolint:bodyclose // there is no response
			t.Errorf("error %v, want %v", err, want)
		}
	}
}

// TestTimeoutOfAFailedRequest checks that only the caller sees the timeout of a request.
func TestTimeoutOfAFailedRequest(t *testing.T) {
	tap := plainTextTap(new(string))
	err := &url.Error{Op: "Get", URL: "http://server", Err: &failure{tap, os.ErrDeadlineExceeded}}
	if utilnet.IsTimeout(err) {
		t.Errorf("error %v, which the client repeats", err)
	}
	tap.Finish()
	if !utilnet.IsTimeout(err) || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("error %v is no timeout", err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func TestAcceptIsReplaced(t *testing.T) {
	var got, accept string
	tap := plainTextTap(&got)
	tap.Accept = "text/plain;q=1"
	if _, _, err := get(t, tap, func(w http.ResponseWriter, r *http.Request) {
		accept = r.Header.Get("Accept")
		serveText(w, r)
	}, Wrap); err != nil || accept != tap.Accept {
		t.Errorf("server received Accept %q, %v", accept, err)
	}
}

func TestClientReceivesErrorOfConsume(t *testing.T) {
	broken := errors.New("broken")
	tap := plainTextTap(new(string))
	tap.Consume = func(string, io.ReadCloser, string) ([]byte, error) { return nil, broken }
	if _, _, err := get(t, tap, serveText, Wrap); !errors.Is(err, broken) {
		t.Errorf("client read error %v, want %v", err, broken)
	}
}

func TestConsumeIsNotCalledAfterClose(t *testing.T) {
	tap := plainTextTap(new(string))
	tap.Consume = func(string, io.ReadCloser, string) ([]byte, error) {
		t.Error("Consume was called after Close")
		return nil, nil
	}
	server := httptest.NewServer(http.HandlerFunc(serveText))
	defer server.Close()
	response, err := Wrap(server.Client().Transport).RoundTrip(requestWith(t, tap, server.URL))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if n, err := response.Body.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("Read after Close = %d, %v", n, err)
	}
}

// endlessBody is a body without an end. It counts what was read.
type endlessBody struct{ read, closed int }

func (b *endlessBody) Read(p []byte) (int, error) {
	b.read += len(p)
	return len(p), nil
}

func (b *endlessBody) Close() error {
	b.closed++
	return nil
}

// TestErrorBodyIsCutOff sends an error whose body does not end to a client that reads the whole
// body.
func TestErrorBodyIsCutOff(t *testing.T) {
	const limit = 1000
	for _, status := range []int{http.StatusCreated, http.StatusForbidden, http.StatusInternalServerError} {
		sent := &endlessBody{}
		next := roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: sent, ContentLength: -1}, nil
		})
		response, err := Wrap(next).RoundTrip(requestWith(t, &Tap{MaxErrorBody: limit}, "http://server"))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || len(body) != limit || sent.read > limit || response.StatusCode != status {
			t.Errorf("%d: the client read %d bytes of %d, %v; want %d", response.StatusCode, len(body), sent.read, err, limit)
		}
		if err := response.Body.Close(); err != nil || sent.closed != 1 {
			t.Errorf("%d: Close() = %v, the server's body was closed %d times", status, err, sent.closed)
		}
	}
}
