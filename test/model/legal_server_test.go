// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// How a legalServer writes versions.
const (
	numberVersions  = "numbers"
	opaqueVersions  = "opaque"
	clusterVersions = "of two clusters" // objects have numbers of their clusters, the collection has both
	objectVersions  = "of objects"      // the collection has none
	noVersions      = "missing"
)

// Envelopes that are odd. Those of namedEnvelopes have a readable key.
var (
	namedEnvelopes   = []string{"uid", "version", "labels"}
	unnamedEnvelopes = []string{"null", "metadata", "kind", "name"}
)

// legalState is the state of a Widget.
type legalState struct {
	uid, version, value int
	odd                 string // its envelope, if that cannot be read
}

// legalChange is a change of a Widget. A deletion has the last state, with a version of its own.
type legalChange struct {
	eventType, key string
	state          legalState
}

// legalServer is an API server that does what the API permits, and what servers other than
// kube-apiserver do. It implements http.RoundTripper.
type legalServer struct {
	program legalProgram
	note    func(format string, arguments ...any)

	mu       sync.Mutex // guards the fields below
	log      []legalChange
	now      map[string]legalState
	version  int
	expired  bool // the next watch is answered with 410
	requests []time.Time
	open     *legalStream // nil if there is none
}

// legalStream is an open watch.
type legalStream struct {
	lines chan string
	ended chan struct{} // closed when the client has gone
}

func newLegalServer(p legalProgram, note func(format string, arguments ...any)) *legalServer {
	return &legalServer{program: p, note: note, now: make(map[string]legalState), version: 9}
}

// objectVersion returns the text of an object's version.
func (s *legalServer) objectVersion(key string, version int) string {
	switch s.program.Versions {
	case opaqueVersions:
		return opaqueText(version)
	case noVersions:
		return ""
	case clusterVersions:
		if key < "c" { // of the cluster that counts faster
			return strconv.Itoa(1000 * version)
		}
	}
	return strconv.Itoa(version)
}

// collectionVersion returns the text of the collection's version.
func (s *legalServer) collectionVersion(version int) string {
	switch s.program.Versions {
	case opaqueVersions:
		return opaqueText(version)
	case clusterVersions:
		return fmt.Sprintf("fast:%d,slow:%d", 1000*version, version)
	case noVersions, objectVersions:
		return ""
	}
	return strconv.Itoa(version)
}

func opaqueText(version int) string {
	return base64.RawStdEncoding.EncodeToString(fmt.Appendf(nil, "revision %d", version))
}

// parse returns the version that a request has, or -1 if it has none.
func (s *legalServer) parse(text string) int {
	for version := range s.version + 1 {
		if text != "" && text == s.collectionVersion(version) {
			return version
		}
	}
	return -1
}

// change writes changes at one version, and sends them to the open watch.
func (s *legalServer) change(changes ...legalChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	for _, c := range changes {
		c.state.version = s.version
		if s.now[c.key] = c.state; c.eventType == "DELETED" {
			delete(s.now, c.key)
		}
		s.log = append(s.log, c)
		s.send(s.eventText(c.eventType, c.key, c.state))
	}
}

// send sends a line to the open watch, if there is one. The caller holds the mutex.
func (s *legalServer) send(line string) {
	if s.open == nil {
		return
	}
	select {
	case s.open.lines <- line:
	case <-s.open.ended:
		s.open = nil
	}
}

// close ends the open watch.
func (s *legalServer) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil {
		close(s.open.lines)
		s.open = nil
	}
}

// expire lets the next watch fail with 410.
func (s *legalServer) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired = true
}

func (s *legalServer) bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.send(s.bookmarkText(""))
}

func (s *legalServer) bookmarkText(annotations string) string {
	return fmt.Sprintf(`{"type":"BOOKMARK","object":{"apiVersion":"example.com/v1","kind":"Widget","metadata":{%s"resourceVersion":%q}}}`+"\n",
		annotations, s.collectionVersion(s.version))
}

func (s *legalServer) eventText(eventType, key string, state legalState) string {
	return fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", eventType, s.widgetText(key, state))
}

// widgetText returns a Widget in JSON, or what the server sends in its place.
func (s *legalServer) widgetText(key string, state legalState) string {
	kind, name, uid, version, labels := "Widget", strconv.Quote(key), fmt.Sprintf("%q", fmt.Sprint("uid-", state.uid)), strconv.Quote(s.objectVersion(key, state.version)), "{}"
	switch state.odd {
	case "null":
		return "null"
	case "metadata":
		return `{"apiVersion":"example.com/v1","kind":"Widget","metadata":"ns/x"}`
	case "kind":
		kind = "Gadget"
	case "name":
		name = "5"
	case "uid":
		uid = "5"
	case "version":
		version = "{}"
	case "labels":
		labels = "[]"
	}
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":%q,"metadata":{"namespace":"ns","name":%s,"uid":%s,"resourceVersion":%s,"labels":%s},"spec":{"n":%d}}`,
		kind, name, uid, version, labels, state.value)
}

// RoundTrip implements http.RoundTripper.
func (s *legalServer) RoundTrip(request *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	query := request.URL.Query()
	if query.Get("continue") == "" {
		s.requests = append(s.requests, time.Now())
	}
	s.note("%s", request.URL.RawQuery)
	status := http.StatusOK
	var body io.ReadCloser
	switch {
	case query.Get("watch") != "true":
		body = io.NopCloser(strings.NewReader(s.listText(query)))
	case s.expired:
		s.expired, status = false, http.StatusGone
		body = io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`))
	default:
		body = s.watch(request, query)
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: request}, nil
}

// listText returns a page of a list. Its continue token is the number of items and of empty pages
// sent before. Each page with items follows as many empty ones as the program says.
func (s *legalServer) listText(query url.Values) string {
	var at, items, empty int
	if token := query.Get("continue"); token == "" {
		at = s.version
	} else if _, err := fmt.Sscanf(token, "%d-%d-%d", &at, &items, &empty); err != nil {
		panic(err)
	}
	now := s.at(at)
	keys := sortedKeys(now)[items:]
	limit, _ := strconv.Atoi(query.Get("limit"))
	if s.program.EmptyPages > 0 {
		limit = 2 // whether or not the client asks for pages
	}
	if limit == 0 || limit > len(keys) {
		limit = len(keys)
	}
	token := ""
	switch {
	case empty < s.program.EmptyPages:
		limit, token = 0, fmt.Sprintf("%d-%d-%d", at, items, empty+1)
	case limit < len(keys):
		token = fmt.Sprintf("%d-%d-0", at, items+limit)
	}
	var texts []string
	for _, key := range keys[:limit] {
		texts = append(texts, s.widgetText(key, now[key]))
	}
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"WidgetList","metadata":{"resourceVersion":%q,"continue":%q},"items":[%s]}`,
		s.collectionVersion(at), token, strings.Join(texts, ","))
}

// at returns the objects at a version.
func (s *legalServer) at(version int) map[string]legalState {
	now := make(map[string]legalState)
	for _, c := range s.log {
		if c.state.version > version {
			break
		}
		if now[c.key] = c.state; c.eventType == "DELETED" {
			delete(now, c.key)
		}
	}
	return now
}

// watch opens a watch: a WatchList, one that begins after a version, or one that begins with the
// present state. It takes the place of one that is open.
func (s *legalServer) watch(request *http.Request, query url.Values) io.ReadCloser {
	from := s.parse(query.Get("resourceVersion"))
	var lines []string
	if isWatchList := query.Get("sendInitialEvents") == "true"; isWatchList || from < 0 {
		for _, key := range sortedKeys(s.now) {
			lines = append(lines, s.eventText("ADDED", key, s.now[key]))
		}
		if isWatchList {
			lines = append(lines, s.bookmarkText(`"annotations":{"k8s.io/initial-events-end":"true"},`))
		}
	} else {
		for _, c := range s.log {
			if c.state.version > from {
				lines = append(lines, s.eventText(c.eventType, c.key, c.state))
			}
		}
	}
	if s.open != nil {
		close(s.open.lines)
	}
	reader, writer := io.Pipe()
	stream := &legalStream{lines: make(chan string), ended: make(chan struct{})}
	s.open = stream
	go func() {
		defer writer.Close()
		defer close(stream.ended)
		for {
			for _, line := range lines {
				if _, err := io.WriteString(writer, line); err != nil {
					return
				}
			}
			select {
			case line, ok := <-stream.lines:
				if !ok {
					return
				}
				lines = []string{line}
			case <-request.Context().Done():
				return
			}
		}
	}()
	return reader
}

// isWatched reports whether a watch is open.
func (s *legalServer) isWatched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil {
		select {
		case <-s.open.ended:
			s.open = nil
		default:
		}
	}
	return s.open != nil
}
