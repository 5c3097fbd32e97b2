package conformance

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/rest"
)

// patience is how long a request or an event may take.
const patience = 20 * time.Second

// Run sends all scripts to a server and returns its answers. compact makes the server forget all versions before the current one. Run leaves
// Namespaces behind.
func Run(tb testing.TB, config *rest.Config, compact func()) Transcript {
	tb.Helper()
	all, err := readScripts()
	if err != nil {
		tb.Fatal(err)
	}
	t := Transcript{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := newSession(tb, config, name)
		s.compact = compact
		for _, step := range all[name] {
			s.run(step)
		}
		t[name] = s.out.String()
	}
	return t
}

// session is one run of one script.
type session struct {
	tb      testing.TB
	ctx     context.Context
	client  *http.Client
	host    string
	names   *names
	watches map[string]*stream
	compact func()
	out     strings.Builder
}

func newSession(tb testing.TB, config *rest.Config, script string) *session {
	tb.Helper()
	config = rest.CopyConfig(config)
	config.ContentType = ""
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(tb.Context())
	tb.Cleanup(client.CloseIdleConnections)
	tb.Cleanup(cancel)
	namespace := "conformance-" + script + "-" + utilrand.String(5)
	s := &session{tb: tb, ctx: ctx, client: client, host: config.Host, names: newNames(namespace), watches: map[string]*stream{}}
	code, _, body := s.send(step{verb: http.MethodPost, path: "/api/v1/namespaces", body: `{"metadata":{"name":"{ns}"}}`})
	if code != http.StatusCreated {
		tb.Fatalf("create a Namespace: %d %s", code, body)
	}
	return s
}

func (s *session) run(step step) {
	s.tb.Helper()
	fmt.Fprintln(&s.out, step.text)
	switch step.verb {
	case "WATCH":
		s.open(step)
	case "EVENTS":
		s.events(step)
	case "WAIT":
		s.wait(step)
	case "COMPACT":
		s.compact()
	default:
		code, header, body := s.send(step)
		s.say("%s", s.names.answer(step, code, header, body))
	}
}

func (s *session) say(format string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		fmt.Fprintf(&s.out, "  %s\n", strings.TrimRight(line, "\n"))
	}
}

// request makes the HTTP request of a step.
func (s *session) request(ctx context.Context, step step, method string) *http.Response {
	s.tb.Helper()
	req, err := http.NewRequestWithContext(ctx, method, s.host+s.names.expand(step.path), bytes.NewBufferString(s.names.expand(step.body)))
	if err != nil {
		s.tb.Fatalf("%s: %v", step.text, err)
	}
	if step.accept != "" {
		req.Header.Set("Accept", step.accept)
	}
	if step.typ != "" {
		req.Header.Set("Content-Type", step.typ)
	} else if step.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.tb.Fatalf("%s: %v", step.text, err)
	}
	return resp
}

func (s *session) send(step step) (int, http.Header, []byte) {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	resp := s.request(ctx, step, step.verb)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.tb.Fatalf("%s: %v", step.text, err)
	}
	return resp.StatusCode, resp.Header, body
}

// wait asks until a path is served: a custom resource, for one, takes a moment.
func (s *session) wait(step step) {
	s.tb.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	step.text, step.body = "WAIT", ""
	get := step
	get.verb = http.MethodGet
	for {
		code, _, body := s.send(get)
		if code == http.StatusOK {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			s.tb.Fatalf("%s is not served: %d %s", step.path, code, body)
		}
	}
}

// open begins a watch, which ends with the session.
func (s *session) open(step step) {
	s.tb.Helper()
	resp := s.request(s.ctx, step, http.MethodGet)
	s.tb.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			s.tb.Fatalf("%s: %v", step.text, err)
		}
		s.say("%s", s.names.answer(step, resp.StatusCode, resp.Header, body))
		return
	}
	s.say("%d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	s.watches[step.name] = &stream{body: resp.Body, lines: bufio.NewReader(resp.Body)}
}

// stream is an open watch.
type stream struct {
	body  io.Closer
	lines *bufio.Reader
}

// events writes down a watch's events, up to that of the last object or to the end.
func (s *session) events(step step) {
	s.tb.Helper()
	watch := s.watches[step.name]
	if watch == nil {
		s.tb.Fatalf("%s: there is no such watch", step.text)
	}
	timer := time.AfterFunc(patience, func() { watch.body.Close() })
	defer func() {
		if !timer.Stop() {
			s.tb.Errorf("%s: the events do not come", step.text)
		}
	}()
	for {
		line, err := watch.lines.ReadBytes('\n')
		if err != nil {
			s.say("closed")
			return
		}
		text, name := s.names.event(step, line)
		if text != "" {
			s.say("%s", text)
		}
		if name == s.names.expand(step.path) && name != "" {
			return
		}
	}
}
