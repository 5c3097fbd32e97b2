// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/follow"
)

// churnServers are one or three servers of a resource that comes and goes. The third one lags
// behind.
type churnServers struct {
	next http.RoundTripper
	lag  time.Duration // zero for one server

	mu        sync.Mutex // guards the fields below
	absent    bool       // the definition was deleted
	createdAt time.Time
	deletedAt time.Time
	listedAt  time.Time // of the first discovery answer since the creation that lists the resource
	isListed  bool      // by an answer since the creation
	first     time.Duration
	measured  int      // how often first was measured
	forbidden []string // requests for the resource since the deletion
	worst     []string // the most forbidden requests of one deletion
	last      time.Duration
	discovery int // requests
	bytes     int // of discovery
	turn      int
	history   []savedDiscovery
}

type savedDiscovery struct {
	at     time.Time
	header http.Header
	body   []byte
}

func (s *churnServers) RoundTrip(request *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn++
	lags := s.lag > 0 && s.turn%3 == 0
	switch path := request.URL.Path; {
	case path == "/apis":
		return s.discover(request, lags)
	case strings.HasSuffix(path, "/widgets"):
		if s.absent {
			after := time.Since(s.deletedAt)
			s.forbidden = append(s.forbidden, fmt.Sprint(after, " ", request.URL.RawQuery))
			if s.last = max(s.last, after); len(s.forbidden) > len(s.worst) {
				s.worst = s.forbidden
			}
		} else if !s.listedAt.IsZero() {
			s.first = max(s.first, time.Since(s.listedAt))
			s.measured++
			s.listedAt = time.Time{}
		}
		if lags && time.Since(s.createdAt) < s.lag {
			return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("404 page not found")), Request: request}, nil
		}
	}
	s.mu.Unlock()
	defer s.mu.Lock()
	return s.next.RoundTrip(request)
}

// discover answers a discovery request, with an earlier answer if the server lags. The caller holds
// mu.
func (s *churnServers) discover(request *http.Request, lags bool) (*http.Response, error) {
	s.discovery++
	if s.lag > 0 {
		request = request.Clone(request.Context())
		request.Header.Del("If-None-Match")
	}
	response, err := s.next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusOK {
		if err == nil && response.StatusCode == http.StatusNotModified && len(s.history) > 0 {
			s.answered(s.history[len(s.history)-1].body)
		}
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	s.history = append(s.history, savedDiscovery{time.Now(), response.Header, body})
	for lags && len(s.history) > 1 && time.Since(s.history[1].at) > s.lag {
		s.history = s.history[1:]
	}
	if !lags {
		s.history = s.history[max(0, len(s.history)-20):]
	} else {
		response.Header, body = s.history[0].header, s.history[0].body
	}
	s.bytes += len(body)
	s.answered(body)
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return response, nil
}

// answered records when an answer lists the resource for the first time since its creation. The
// caller holds mu.
func (s *churnServers) answered(body []byte) {
	if !s.absent && !s.isListed && bytes.Contains(body, []byte("widgets")) {
		s.listedAt, s.isListed = time.Now(), true
	}
}

func (s *churnServers) created() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.absent, s.createdAt, s.listedAt, s.isListed = false, time.Now(), time.Time{}, false
}

func (s *churnServers) deleted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.absent, s.deletedAt, s.forbidden = true, time.Now(), nil
}

// lives counts the additions and deletions of each object.
type lives struct {
	mu    sync.Mutex // guards byUID
	byUID map[types.UID][2]int
}

func (l *lives) handle(event cache.Event[*unstructured.Unstructured]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := l.byUID[event.Object().GetUID()]
	switch event.Type {
	case cache.EventAdd:
		counts[0]++
	case cache.EventDelete:
		counts[1]++
	case cache.EventUpdate:
	}
	l.byUID[event.Object().GetUID()] = counts
}

// A definition is created, deleted and created again, while a client writes.
func TestDefinitionThatComesAndGoesUnderLoad(t *testing.T) {
	for name, lag := range map[string]time.Duration{"one server": 0, "one of three servers lags": 1500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runChurn(t, lag) })
		})
	}
}

func runChurn(t *testing.T, lag time.Duration) {
	t.Helper()
	server, err := fake.StartAPIServer(fake.APIServerOptions{InMemory: true})
	noError(t, err)
	defer server.Close(context.WithoutCancel(t.Context()))
	servers := &churnServers{lag: lag}
	config := server.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { servers.next = next; return servers })
	cache.EnableStreaming(config)
	var lines bytes.Buffer
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&lines)))
	client := dynamic.NewForConfigOrDie(config)
	follower := follow.New(metadata.NewForConfigOrDie(config), discovery.NewDiscoveryClientForConfigOrDie(config), follow.Options{Logger: logger})
	informer := cache.NewSharedInformer(cache.ListWatchOf(client.Resource(widgets)), &unstructured.Unstructured{}, cache.InformerOptions[*unstructured.Unstructured]{
		Served: follower.Resource(widgets), Logger: logger, Packed: true,
	})
	seen := &lives{byUID: make(map[types.UID][2]int)}
	_, err = informer.AddEventHandler(cache.EventHandlerFunc[*unstructured.Unstructured](seen.handle), cache.HandlerOptions{})
	noError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- cache.RunAll(ctx, follower.Run, informer.Run) }()
	servers.deleted()
	definition := func() *unstructured.Unstructured {
		return fake.CustomResource{Group: "example.com", Versions: []string{"v1"}, Kind: "Widget"}.Definition()
	}
	settle := func(done func() bool) {
		for range 100 {
			if synctest.Wait(); done() {
				return
			}
			<-time.After(100 * time.Millisecond)
		}
	}
	began := time.Now()
	for round := range churnRounds {
		servers.created()
		noError(t, server.Create(definition()))
		for n := range 3 {
			noError(t, server.Create(newWidget(fmt.Sprint(n))))
		}
		noError(t, follower.WaitForServed(ctx, widgets))
		settle(func() bool { return informer.Store().Len() == 3 })
		for n := range 3 {
			noError(t, server.Delete(newWidget(fmt.Sprint(n))))
			noError(t, server.Create(newWidget(fmt.Sprint(n))))
		}
		if round%2 == 0 { // otherwise the definition is deleted while the informer is busy
			<-time.After(time.Duration(round%7) * 300 * time.Millisecond)
			synctest.Wait()
			if got := informer.Store().Len(); got != 3 {
				t.Fatalf("round %d: %d objects, %+v", round, got, informer.Status())
			}
		}
		servers.deleted()
		noError(t, server.Delete(definition()))
		settle(func() bool { return informer.Status().Phase == cache.PhaseNotServed })
		if status := informer.Status(); status.Phase != cache.PhaseNotServed || status.Store.Objects != 0 {
			t.Fatalf("round %d: %+v", round, status)
		}
		<-time.After(time.Duration(round%5) * time.Second)
		if round%2 == 1 {
			<-time.After(51300 * time.Millisecond) // more than two definitions a minute reach the limits of requests
		}
	}
	passed := time.Since(began)
	status := follower.Status()
	if status.Err != nil || status.Definitions != 0 {
		t.Errorf("follower's status %+v", status)
	}
	cancel()
	noError(t, <-done)
	for uid, counts := range seen.byUID {
		if counts != [2]int{1, 1} {
			t.Errorf("%s was added %d times and deleted %d times", uid, counts[0], counts[1])
		}
	}
	if len(servers.worst) > 3 || servers.last > 0 { // the requests in progress, and one that confirms the deletion
		t.Errorf("requests for the resource after a deletion: %q, the last one after %v", servers.worst, servers.last)
	}
	limit := time.Second
	if lag > 0 {
		limit = 8 * time.Second // the next answers may be those of the server that lags
	}
	if servers.first > limit || servers.measured != churnRounds {
		t.Errorf("%v from the first discovery answer that lists the resource to the first request, in %d of %d rounds", servers.first, servers.measured, churnRounds)
	}
	if lines.Len() > 0 {
		t.Errorf("logged %s", lines.String())
	}
	t.Logf("%d rounds in %v: %d objects, %d discovery requests with %d bytes; at most %v to the first request, %d requests after a deletion",
		churnRounds, passed, len(seen.byUID), servers.discovery, servers.bytes, servers.first, len(servers.worst))
}

func newWidget(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "ns", "name": name},
	}}
}
