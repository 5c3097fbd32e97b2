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

// scripted is a body that comes in pieces of the sizes that pace says, over and
// over, and ends with an error if it has one. It counts who reads and closes it.
type scripted struct {
	rest   []byte
	pace   []byte
	broken error

	turn   int
	read   []byte
	closed bool
}

func (s *scripted) Read(p []byte) (int, error) {
	switch {
	case s.closed:
		return 0, http.ErrBodyReadAfterClose
	case len(s.rest) == 0 && s.broken != nil:
		return 0, s.broken
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

func (s *scripted) Close() error {
	s.closed = true
	return nil
}

// How the fuzzed answer is consumed.
const (
	consumeAll   = iota // reads everything
	consumeSome         // reads a little and fails
	consumeList         // cuts a list
	consumeWatch        // cuts a watch
	consumers
)

var errFuzz = errors.New("it has had enough")

// FuzzTap gives one answer, of any status, headers and body, however it arrives, to
// one tap. Taken: the client reads the stand-in and nothing of the body, and the
// consumer's error is its own. Not taken: the client has the answer as the server
// sent it, but for what is promised of Retry-After. Nobody hangs, and nobody reads
// more than there is.
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
	f.Add(http.StatusOK, "text/html", "", "1", []byte("<html>"), []byte{2}, byte(consumeSome), true)
	f.Fuzz(func(t *testing.T, status int, contentType, encoding, retryAfter string, sent, pace []byte, consumer byte, broken bool) {
		body := &scripted{rest: sent, pace: pace}
		if broken {
			body.broken = errFuzz
		}
		f := &fuzzed{consumer: consumer % consumers}
		wish := &Tap{Accepts: f.wants, Consume: f.consume, PlaceholderType: "application/json"}
		header := http.Header{"Content-Type": {contentType}, "Content-Encoding": {encoding}, "Retry-After": {retryAfter}}
		next := roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: header.Clone(), Body: body, ContentLength: int64(len(sent))}, nil
		})
		request, err := http.NewRequestWithContext(With(t.Context(), wish), http.MethodGet, "http://server", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := Wrap(Wrap(next)).RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		read, readErr := io.ReadAll(response.Body)
		_, again := response.Body.Read(make([]byte, 1))
		if err := response.Body.Close(); err != nil || !body.closed {
			t.Fatalf("closed: %v, %v", body.closed, err)
		}
		answer := wish.Finish()
		if taken := status == http.StatusOK && encoding == "" && f.wants(contentType); answer.Consumed != taken {
			t.Fatalf("taken: %v, want %v of %d %q %q", answer.Consumed, taken, status, contentType, encoding)
		}
		if again == nil {
			t.Fatal("the body went on behind its end")
		}
		if answer.Consumed {
			f.checkTaken(t, response, sent, read, readErr, body)
		} else {
			f.checkUntouched(t, response, header, answer, sent, read, readErr, broken)
		}
	})
}

// fuzzed is what one answer's consumer saw and said.
type fuzzed struct {
	consumer byte
	calls    int
	got      []byte
	said     error
}

func (f *fuzzed) wants(contentType string) bool {
	_, ok := wire.FormatOf(contentType)
	return ok || f.consumer == consumeAll && strings.HasPrefix(contentType, "text/")
}

func (f *fuzzed) consume(contentType string, body io.Reader) ([]byte, error) {
	f.calls++
	format, _ := wire.FormatOf(contentType)
	body = io.TeeReader(body, writer(func(p []byte) { f.got = append(f.got, p...) }))
	switch f.consumer {
	case consumeAll:
		_, f.said = io.Copy(io.Discard, body)
	case consumeSome:
		_, _ = io.ReadFull(body, make([]byte, 5))
		f.said = errFuzz
	case consumeList:
		_, f.said = wire.List(body, format, wire.Options{}, func(*wire.Item) error { return nil })
	case consumeWatch:
		f.said = wire.Watch(body, format, wire.Options{}, func(*wire.Event) error { return nil })
	}
	return []byte("stand-in"), f.said
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

func (f *fuzzed) checkTaken(t *testing.T, response *http.Response, sent, read []byte, err error, body *scripted) {
	t.Helper()
	switch {
	case f.calls != 1:
		t.Fatalf("consumed %d times", f.calls)
	case !bytes.Equal(f.got, body.read) || !bytes.HasPrefix(sent, f.got):
		t.Fatalf("the consumer got %q of %q, read were %q", f.got, sent, body.read)
	case f.said != nil && (!errors.Is(err, f.said) || len(read) > 0):
		t.Fatalf("the client read %q, %v; the consumer said %v", read, err, f.said)
	case f.said == nil && (err != nil || string(read) != "stand-in" || !bytes.Equal(f.got, sent)):
		t.Fatalf("the client read %q, %v; the consumer %q of %q", read, err, f.got, sent)
	case response.Header.Get("Content-Type") != "application/json" || response.ContentLength != -1:
		t.Fatalf("stand-in announced as %q, %d bytes", response.Header.Get("Content-Type"), response.ContentLength)
	}
}

func (f *fuzzed) checkUntouched(t *testing.T, response *http.Response, header http.Header, answer Response, sent, read []byte, err error, broken bool) {
	t.Helper()
	want := header.Clone()
	if response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError {
		if answer.RetryAfter != header.Get("Retry-After") {
			t.Fatalf("Retry-After is %q, want %q", answer.RetryAfter, header.Get("Retry-After"))
		}
		want.Del("Retry-After")
	}
	for name := range header {
		if response.Header.Get(name) != want.Get(name) {
			t.Fatalf("%s is %q, want %q", name, response.Header.Get(name), want.Get(name))
		}
	}
	if f.calls > 0 || !bytes.Equal(read, sent) || (err != nil) != broken || response.ContentLength != int64(len(sent)) {
		t.Fatalf("the client read %q, %v of %q; consumed %d times", read, err, sent, f.calls)
	}
}
