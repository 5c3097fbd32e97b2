// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/e2e/cluster"
)

// subject is a running informer or reflector under test, with its recorded changes, requests and
// errors.
type subject struct {
	*recorder
	name       string
	streaming  bool
	watchList  bool
	controller *cache.Controller // nil for a reflector
	version    func() string
	content    func() map[string]state // of the store
	requests   *requests
	errors     *errorRecorder
	revision   func(context.Context) (int64, error) // the server's

	cancel context.CancelFunc
	label  string
	done   <-chan struct{}
	err    error // of Run, read after done is closed
}

// listWatchFunc returns the ListerWatcher of a test's collection, with a client of config.
type listWatchFunc func(t *testing.T, config *rest.Config) cache.ListerWatcher

// startSubjects runs an informer, a reflector that lists and one with WatchList, each with and
// without streaming, on one collection. They are stopped, and checked for leaks, at the end of the
// test. configure, if given, changes the configuration of their clients.
func startSubjects[T cache.Object](t *testing.T, c *cluster.Cluster, example T, list listWatchFunc, configure ...func(*rest.Config)) []*subject {
	t.Helper()
	var all []*subject
	for _, streaming := range []bool{true, false} {
		all = append(all,
			startInformer(t, c, streaming, example, list, configure...),
			startReflector(t, c, streaming, example, list, false, configure...),
			startReflector(t, c, streaming, example, list, true, configure...))
	}
	return all
}

func startInformer[T cache.Object](t *testing.T, c *cluster.Cluster, streaming bool, example T, list listWatchFunc, configure ...func(*rest.Config)) *subject {
	t.Helper()
	s := newSubject("informer", streaming, c)
	store, controller := cache.NewInformer(list(t, s.connect(c, configure...)), example, 0, recordingHandler[T]{s.recorder})
	s.controller, s.version, s.content = controller, controller.LastSyncResourceVersion, contentOf(store)
	s.start(t, controller.Run)
	return s
}

func startReflector[T cache.Object](t *testing.T, c *cluster.Cluster, streaming bool, example T, list listWatchFunc, watchList bool,
	configure ...func(*rest.Config)) *subject {
	t.Helper()
	s := newSubject("reflector with "+listName(watchList), streaming, c)
	s.watchList = watchList
	store := &recordingStore[T]{Store: cache.NewStore[T](nil, nil), recorder: s.recorder}
	reflector := cache.NewReflector(list(t, s.connect(c, configure...)), example, store,
		cache.ReflectorOptions{WatchList: watchList, ErrorHandler: s.errors.add})
	s.version, s.content = reflector.LastSyncResourceVersion, contentOf(store.Reader)
	s.start(t, reflector.Run)
	return s
}

func newSubject(name string, streaming bool, c *cluster.Cluster) *subject {
	return &subject{
		name: modeName(streaming) + " " + name, streaming: streaming, revision: c.Revision,
		recorder: newRecorder(), requests: &requests{}, errors: &errorRecorder{},
	}
}

func modeName(streaming bool) string {
	if streaming {
		return "streaming"
	}
	return "not streaming"
}

func listName(watchList bool) string {
	if watchList {
		return "WatchList"
	}
	return "List"
}

// connect returns the configuration of the subject's client, whose requests are recorded.
func (s *subject) connect(c *cluster.Cluster, configure ...func(*rest.Config)) *rest.Config {
	config := c.Config()
	for _, change := range configure {
		change(config)
	}
	config.Wrap(s.requests.wrap) // before EnableStreaming, so that it sees the requests as sent
	if s.streaming {
		cache.EnableStreaming(config)
	}
	return config
}

func contentOf[T cache.Object](store cache.Reader[T]) func() map[string]state {
	return func() map[string]state {
		content := map[string]state{}
		for key, obj := range store.Snapshot().All() {
			content[key] = stateOf(obj)
		}
		return content
	}
}

func (s *subject) start(t *testing.T, run func(context.Context) error) {
	t.Helper()
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.Verbosity(0))).WithName(s.name)
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger))
	s.cancel = cancel
	s.label, s.done = runLabelled(ctx, func(ctx context.Context) { s.err = run(ctx) })
	t.Cleanup(func() { s.stop(t) })
}

// awaitListed waits until each subject has stored its initial list, which may be empty.
func awaitListed(t *testing.T, subjects []*subject) {
	t.Helper()
	for _, s := range subjects {
		await(t, s.name+" stores the initial list", func(context.Context) error {
			if s.version() == "" {
				return errors.New("no resourceVersion yet")
			}
			return nil
		})
	}
}

// stop stops the subject and checks its result and that no goroutine is left.
func (s *subject) stop(t *testing.T) {
	t.Helper()
	s.cancel()
	select {
	case <-s.done:
	case <-time.After(waitTimeout):
		t.Fatalf("%s: Run did not return within %s after its context ended", s.name, waitTimeout)
	}
	if s.err != nil {
		t.Errorf("%s: Run returned %v, want nil", s.name, s.err)
	}
	if s.controller != nil && s.controller.Status().Phase != cache.PhaseStopped {
		t.Errorf("%s: the phase after Run is %s, want Stopped", s.name, s.controller.Status().Phase)
	}
	expectNoGoroutines(t, s.label)
	s.check(t)
}

// expectSettled waits until the recorded changes, the store and the Status of the subject show the
// server's objects.
func (s *subject) expectSettled(t *testing.T, want map[string]state) {
	t.Helper()
	s.awaitState(t, want)
	if got := s.content(); !maps.Equal(got, want) {
		t.Errorf("the store differs from the server:\n%s", difference(got, want))
	}
	s.check(t)
	await(t, "the status is up to date", func(ctx context.Context) error { return s.checkStatus(ctx, want) })
}

// checkStatus returns an error if the version or the Status is not that of a subject that is up to
// date.
func (s *subject) checkStatus(ctx context.Context, want map[string]state) error {
	at := parseVersion(s.version())
	revision, err := s.revision(ctx)
	if err != nil {
		return err
	}
	if at > revision {
		return fmt.Errorf("the version is %d, the server's %d", at, revision)
	}
	for key, state := range want {
		if at < parseVersion(state.version) {
			return fmt.Errorf("the version is %d, older than %s at %s", at, key, state.version)
		}
	}
	if s.controller == nil {
		return nil
	}
	status := s.controller.Status()
	switch {
	case status.Phase != cache.PhaseWatching, status.Err != nil, status.FailedAttempts != 0, !status.ErrSince.IsZero():
		return fmt.Errorf("phase %s, %d failed attempts since %v: %w", status.Phase, status.FailedAttempts, status.ErrSince, status.Err)
	case !status.Synced || !s.controller.HasDelivered():
		return errors.New("not synced")
	case time.Since(status.Freshness.FreshAt) > maxFreshAge:
		return fmt.Errorf("last confirmed %s ago", time.Since(status.Freshness.FreshAt))
	case status.Store.Objects != len(want) || status.Store.Quarantined != 0:
		return fmt.Errorf("%d objects, %d quarantined, want %d and none", status.Store.Objects, status.Store.Quarantined, len(want))
	case status.Requests.Streaming != s.streaming, status.Requests.Streaming != (status.Requests.NotStreamingReason == ""):
		return fmt.Errorf("streaming %t (%s), want %t", status.Requests.Streaming, status.Requests.NotStreamingReason, s.streaming)
	case len(status.Handlers) != 1 || !status.Handlers[0].Synced || status.Handlers[0].Backlog != 0:
		return fmt.Errorf("handlers %+v, want one without backlog", status.Handlers)
	case status.Freshness.ResourceVersion != s.controller.LastSyncResourceVersion():
		return fmt.Errorf("the Status is at %s, the informer at %s", status.Freshness.ResourceVersion, s.controller.LastSyncResourceVersion())
	}
	return nil
}

// maxFreshAge is the maximum age of Status.Freshness.FreshAt: bookmarks confirm a quiet collection
// once a minute.
const maxFreshAge = 90 * time.Second

// truth returns the server's objects, listed with client-go alone.
type truth func(t *testing.T) map[string]state

// expectAllSettled calls expectSettled and the given checks for each subject, in a subtest.
func expectAllSettled(t *testing.T, subjects []*subject, truth truth, checks ...func(t *testing.T, s *subject)) {
	t.Helper()
	want := truth(t)
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			s.expectSettled(t, want)
			for _, check := range checks {
				check(t, s)
			}
		})
	}
}

// errorRecorder records the errors that an ErrorHandler received.
type errorRecorder struct {
	mu  sync.Mutex
	all []error
}

func (h *errorRecorder) add(_ context.Context, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, err)
}

// any reports whether is returns true for an error.
func (h *errorRecorder) any(is func(error) bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.all, is)
}

func (h *errorRecorder) list() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all)
}

// gate is a network that can be disconnected.
type gate struct {
	mu     sync.Mutex
	closed bool
	server string // the address that is dialed instead of the client's, if set
	conns  []net.Conn
}

// configure makes a client connect through the gate.
func (g *gate) configure(config *rest.Config) { config.Dial = g.dial }

func (g *gate) dial(ctx context.Context, network, address string) (net.Conn, error) {
	g.mu.Lock()
	closed, server := g.closed, cmp.Or(g.server, address)
	g.mu.Unlock()
	if closed {
		return nil, fmt.Errorf("dial %s: %w", address, net.ErrClosed)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, server)
	if err == nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.conns = append(g.conns, conn)
	}
	return conn, err
}

// close closes all connections and refuses new ones.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, conn := range g.conns {
		conn.Close()
	}
	g.conns = nil
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = false
}

// lead closes all connections, and lets new ones lead to another server.
func (g *gate) lead(to *rest.Config) {
	g.close()
	g.mu.Lock()
	g.server = strings.TrimPrefix(to.Host, "https://")
	g.mu.Unlock()
	g.open()
}

// await calls try until it succeeds, and fails the test after waitTimeout.
func await(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	if err := poll(context.Background(), try); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// poll calls try until it succeeds. After waitTimeout it returns the last error.
func poll(ctx context.Context, try func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, waitTimeout, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return err
}

const pollInterval = 50 * time.Millisecond

// truthOf returns a truth that calls list until it succeeds, so that the server may be starting.
func truthOf[T metav1.Object](list func(ctx context.Context) ([]T, error)) truth {
	return func(t *testing.T) map[string]state {
		t.Helper()
		all := map[string]state{}
		await(t, "list the server's objects", func(ctx context.Context) error {
			objs, err := list(ctx)
			for _, obj := range objs {
				all[keyOf(obj)] = stateOf(obj)
			}
			return err
		})
		return all
	}
}

// parseVersion returns a resourceVersion as a number, 0 if it is not valid.
func parseVersion(resourceVersion string) int64 {
	v, err := strconv.ParseInt(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return v
}
