package tap

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// get makes a request with a tap through transports wrapped around the usual one.
func get(t *testing.T, wish *Tap, handler http.HandlerFunc, wraps ...func(http.RoundTripper) http.RoundTripper) (*http.Response, string, error) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	transport := server.Client().Transport
	for _, wrap := range wraps {
		transport = wrap(transport)
	}
	ctx := t.Context()
	if wish != nil {
		ctx = With(ctx, wish)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/plain")
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if got := request.Header.Get("Accept"); got != "text/plain" {
		t.Errorf("the client's request was changed: Accept is %q", got)
	}
	return response, string(body), err
}

// upper wants text/plain, keeps it and leaves a stand-in.
func upper(got *string) *Tap {
	return &Tap{
		Accepts: func(contentType string) bool { return strings.HasPrefix(contentType, "text/plain") },
		Consume: func(_ string, body io.Reader) ([]byte, error) {
			all, err := io.ReadAll(body)
			*got += string(all)
			return []byte("stand-in"), err
		},
		PlaceholderType: "application/json",
	}
}

func text(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, "the body")
}

func TestBodyGoesToTheTapAndAStandInToTheClient(t *testing.T) {
	for name, wraps := range map[string][]func(http.RoundTripper) http.RoundTripper{
		"wrapped once":  {Wrap},
		"wrapped twice": {Wrap, Wrap},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			wish := upper(&got)
			response, read, err := get(t, wish, text, wraps...)
			if err != nil || read != "stand-in" || got != "the body" {
				t.Errorf("client read %q, %v; the tap %q", read, err, got)
			}
			if response.Header.Get("Content-Type") != "application/json" || response.ContentLength != -1 {
				t.Errorf("stand-in announced as %q, %d bytes", response.Header.Get("Content-Type"), response.ContentLength)
			}
			if response.Header.Get("Cache-Control") != "no-store" {
				t.Error("the stand-in may be cached as the answer")
			}
			if answer := wish.Finish(); answer != (Response{Intercepted: true, StatusCode: 200, ContentType: "text/plain", Consumed: true}) {
				t.Errorf("Finish() = %+v", answer)
			}
		})
	}
}

func TestWhatIsNotTapped(t *testing.T) {
	var got string
	t.Run("no tap in the context", func(t *testing.T) {
		if _, read, err := get(t, nil, text, Wrap); err != nil || read != "the body" {
			t.Errorf("client read %q, %v", read, err)
		}
	})
	t.Run("another Content-Type", func(t *testing.T) {
		wish := upper(&got)
		_, read, err := get(t, wish, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/cbor")
			_, _ = io.WriteString(w, "cbor")
		}, Wrap)
		if answer := wish.Finish(); err != nil || read != "cbor" || answer.Consumed || answer.ContentType != "application/cbor" {
			t.Errorf("client read %q, %v; answer %+v", read, err, answer)
		}
	})
	t.Run("encoded", func(t *testing.T) {
		wish := upper(&got)
		_, read, err := get(t, wish, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			text(w, r)
		}, Wrap)
		if answer := wish.Finish(); err != nil || read != "the body" || answer.Consumed || answer.Encoding != "br" {
			t.Errorf("client read %q, %v; answer %+v", read, err, answer)
		}
	})
	t.Run("finished before the answer", func(t *testing.T) {
		wish := upper(&got)
		_, read, err := get(t, wish, func(w http.ResponseWriter, r *http.Request) {
			wish.Finish()
			text(w, r)
		}, Wrap)
		if err != nil || read != "the body" || wish.Finish().Consumed {
			t.Errorf("client read %q, %v; answer %+v", read, err, wish.Finish())
		}
	})
	t.Run("another status", func(t *testing.T) {
		wish := upper(&got)
		_, read, err := get(t, wish, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusGone)
			text(w, r)
		}, Wrap)
		if err != nil || read != "the body" || wish.Finish().Consumed {
			t.Errorf("client read %q, %v; answer %+v", read, err, wish.Finish())
		}
	})
	if got != "" {
		t.Errorf("the tap read %q", got)
	}
}

func TestRetryAfterIsTheTapsAlone(t *testing.T) {
	for status, taken := range map[int]bool{429: true, 500: true, 503: true, 409: false} {
		var got string
		wish := upper(&got)
		response, _, _ := get(t, wish, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(status)
		}, Wrap, Wrap)
		seen, left := wish.Finish().RetryAfter == "7", response.Header.Get("Retry-After") == "7"
		if seen != taken || left == taken {
			t.Errorf("%d: the tap sees Retry-After: %v, the client: %v", status, seen, left)
		}
	}
}

// TestSecondAttempt: a client may repeat a request whose answer it did not like, but
// there is one Consume.
func TestSecondAttempt(t *testing.T) {
	var got string
	wish := upper(&got)
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
	if _, read, err := get(t, wish, text, Wrap, twice); err != nil || read != "the body" || got != "" {
		t.Errorf("client read %q, %v; the tap %q", read, err, got)
	}

	wish, answers := upper(&got), []int{http.StatusTooManyRequests, http.StatusOK}
	_, read, err := get(t, wish, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(answers[0])
		answers = answers[1:]
		_, _ = io.WriteString(w, "the body")
	}, Wrap, twice)
	if err != nil || read != "stand-in" || got != "the body" || wish.Finish().StatusCode != http.StatusOK {
		t.Errorf("client read %q, %v; the tap %q; answer %+v", read, err, got, wish.Finish())
	}
}

func TestRequestThatFailsHasReachedTheTap(t *testing.T) {
	refused := errors.New("refused")
	wish := upper(new(string))
	fails := roundTripper(func(*http.Request) (*http.Response, error) { return nil, refused })
	request, err := http.NewRequestWithContext(With(t.Context(), wish), http.MethodGet, "http://server", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Wrap(fails).RoundTrip(request); !errors.Is(err, refused) { //nolint:bodyclose // there is none
		t.Errorf("error %v, want %v", err, refused)
	}
	if answer := wish.Finish(); answer != (Response{Intercepted: true}) {
		t.Errorf("Finish() = %+v", answer)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func TestAcceptIsReplaced(t *testing.T) {
	var got, accept string
	wish := upper(&got)
	wish.Accept = "text/plain;q=1"
	if _, _, err := get(t, wish, func(w http.ResponseWriter, r *http.Request) {
		accept = r.Header.Get("Accept")
		text(w, r)
	}, Wrap); err != nil || accept != wish.Accept {
		t.Errorf("the server saw Accept %q, %v", accept, err)
	}
}

func TestErrorOfConsumeIsTheClients(t *testing.T) {
	broken := errors.New("broken")
	wish := upper(new(string))
	wish.Consume = func(string, io.Reader) ([]byte, error) { return nil, broken }
	if _, _, err := get(t, wish, text, Wrap); !errors.Is(err, broken) {
		t.Errorf("client read error %v, want %v", err, broken)
	}
}

func TestCloseBeforeReadLeavesNothingToConsume(t *testing.T) {
	wish := upper(new(string))
	wish.Consume = func(string, io.Reader) ([]byte, error) {
		t.Error("Consume was called after Close")
		return nil, nil
	}
	server := httptest.NewServer(http.HandlerFunc(text))
	defer server.Close()
	request, err := http.NewRequestWithContext(With(context.Background(), wish), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := Wrap(server.Client().Transport).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if n, err := response.Body.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("Read after Close = %d, %v", n, err)
	}
}
