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
	var transport http.RoundTripper = server.Client().Transport
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
		Wants: func(contentType string) bool { return strings.HasPrefix(contentType, "text/plain") },
		Consume: func(_ string, body io.Reader) ([]byte, error) {
			all, err := io.ReadAll(body)
			*got += string(all)
			return []byte("stand-in"), err
		},
		StandInType: "application/json",
	}
}

func text(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	io.WriteString(w, "the body")
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
			if answer := wish.Answer(); answer != (Answer{StatusCode: 200, ContentType: "text/plain", Taken: true}) {
				t.Errorf("Answer() = %+v", answer)
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
			io.WriteString(w, "cbor")
		}, Wrap)
		if answer := wish.Answer(); err != nil || read != "cbor" || answer.Taken || answer.ContentType != "application/cbor" {
			t.Errorf("client read %q, %v; answer %+v", read, err, answer)
		}
	})
	t.Run("another status", func(t *testing.T) {
		wish := upper(&got)
		_, read, err := get(t, wish, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusGone)
			text(w, r)
		}, Wrap)
		if err != nil || read != "the body" || wish.Answer().Taken {
			t.Errorf("client read %q, %v; answer %+v", read, err, wish.Answer())
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
		}, Wrap)
		seen, left := wish.Answer().RetryAfter == "7", response.Header.Get("Retry-After") == "7"
		if seen != taken || left == taken {
			t.Errorf("%d: the tap sees Retry-After: %v, the client: %v", status, seen, left)
		}
	}
}

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
