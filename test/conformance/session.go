// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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

// requestTimeout bounds a request and the wait for the events of a step.
const requestTimeout = 30 * time.Second

// shardedScript is the script for servers with the feature gate ShardedListAndWatch.
const shardedScript = "sharded"

// Operator does to a server what scripts cannot request.
type Operator struct {
	// Compact makes the server discard all versions except the current one.
	Compact func()
	// Restart makes the server forget what watches can start from, but no version that lists have.
	Restart func()
}

// RunScripts runs all scripts, except the one for servers with the gate, against the server of
// config, of which operator is the operator, and returns the transcript. It does not delete the
// Namespaces that it creates.
func RunScripts(tb testing.TB, config *rest.Config, operator Operator) Transcript {
	tb.Helper()
	all, err := readScripts()
	if err != nil {
		tb.Fatal(err)
	}
	delete(all, shardedScript)
	t := Transcript{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t[name] = runScript(tb, config, name, all[name], operator)
	}
	return t
}

// RunShardedScript runs the script for servers with the gate, and adds its responses to the
// transcript of the other scripts.
func (t Transcript) RunShardedScript(tb testing.TB, config *rest.Config) {
	tb.Helper()
	all, err := readScripts()
	if err != nil {
		tb.Fatal(err)
	}
	t[shardedScript] = runScript(tb, config, shardedScript, all[shardedScript], Operator{})
}

// runScript runs one script and returns its part of the transcript.
func runScript(tb testing.TB, config *rest.Config, name string, steps []step, operator Operator) string {
	tb.Helper()
	s := newSession(tb, config, name)
	s.operator = operator
	for _, step := range steps {
		s.runStep(step)
	}
	return s.out.String()
}

// session runs one script.
type session struct {
	tb         testing.TB
	ctx        context.Context
	client     *http.Client
	host       string
	normalizer *normalizer
	watches    map[string]*stream
	operator   Operator
	out        strings.Builder
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
	s := &session{tb: tb, ctx: ctx, client: client, host: config.Host, normalizer: newNormalizer(namespace), watches: map[string]*stream{}}
	code, _, body := s.send(step{verb: http.MethodPost, path: "/api/v1/namespaces", body: `{"metadata":{"name":"{ns}"}}`})
	if code != http.StatusCreated {
		tb.Fatalf("create Namespace: %d %s", code, body)
	}
	return s
}

func (s *session) runStep(step step) {
	s.tb.Helper()
	fmt.Fprintln(&s.out, step.text)
	switch step.verb {
	case "WATCH":
		s.openWatch(step)
	case "EVENTS":
		s.events(step)
	case "WAIT":
		s.wait(step)
	case "COMPACT":
		s.operator.Compact()
	case "RESTART":
		s.operator.Restart()
	default:
		code, header, body := s.send(step)
		s.printf("%s", s.normalizer.response(step, code, header, body))
	}
}

// printf adds the lines of a response to the transcript.
func (s *session) printf(format string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		fmt.Fprintf(&s.out, "  %s\n", strings.TrimRight(line, "\n"))
	}
}

// request sends the HTTP request of a step.
func (s *session) request(ctx context.Context, step step, method string) *http.Response {
	s.tb.Helper()
	req, err := http.NewRequestWithContext(ctx, method, s.host+s.normalizer.expand(step.path), bytes.NewBufferString(s.normalizer.expand(step.body)))
	if err != nil {
		s.tb.Fatalf("%s: %v", step.text, err)
	}
	if step.accept != "" {
		req.Header.Set("Accept", step.accept)
	}
	if step.contentType != "" {
		req.Header.Set("Content-Type", step.contentType)
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
	ctx, cancel := context.WithTimeout(s.ctx, requestTimeout)
	defer cancel()
	resp := s.request(ctx, step, step.verb)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.tb.Fatalf("%s: %v", step.text, err)
	}
	return resp.StatusCode, resp.Header, body
}

// wait repeats a GET, or with a body a POST, until the response has the step's status code.
func (s *session) wait(step step) {
	s.tb.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	ctx, cancel := context.WithTimeout(s.ctx, requestTimeout)
	defer cancel()
	request := step
	request.verb = http.MethodGet
	if step.body != "" {
		request.verb = http.MethodPost
	}
	for {
		code, _, body := s.send(request)
		if code == step.code {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			s.tb.Fatalf("wait for %s: %d %s", step.path, code, body)
		}
	}
}

// openWatch opens a watch. It ends with the test.
func (s *session) openWatch(step step) {
	s.tb.Helper()
	resp := s.request(s.ctx, step, http.MethodGet)
	s.tb.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			s.tb.Fatalf("%s: %v", step.text, err)
		}
		s.printf("%s", s.normalizer.response(step, resp.StatusCode, resp.Header, body))
		return
	}
	s.printf("%d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	s.watches[step.name] = &stream{body: resp.Body, lines: bufio.NewReader(resp.Body)}
}

// stream is an open watch.
type stream struct {
	body  io.Closer
	lines *bufio.Reader
}

// events records the events of a watch, up to one of the object that the step names or to its end.
func (s *session) events(step step) {
	s.tb.Helper()
	watch := s.watches[step.name]
	if watch == nil {
		s.tb.Fatalf("%s: unknown watch", step.text)
	}
	timer := time.AfterFunc(requestTimeout, func() { watch.body.Close() })
	defer func() {
		if !timer.Stop() {
			s.tb.Errorf("%s: no event within %v", step.text, requestTimeout)
		}
	}()
	for {
		line, err := watch.lines.ReadBytes('\n')
		if err != nil {
			s.printf("closed")
			return
		}
		text, name := s.normalizer.event(step, line)
		if text != "" {
			s.printf("%s", text)
		}
		if name == s.normalizer.expand(step.path) && name != "" {
			return
		}
	}
}
