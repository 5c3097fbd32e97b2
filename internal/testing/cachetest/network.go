// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/cache"
)

// Timeout is how long tests of the network wait for what must happen. It is long for slow machines.
const Timeout = 2 * time.Minute

// NodesOf returns a ListWatch of a server's Nodes by a typed client with streaming.
func NodesOf(config *rest.Config) *cache.ListWatch {
	cache.EnableStreaming(config)
	return cache.ListWatchOf(corev1client.NewForConfigOrDie(config).Nodes())
}

// NetworkHarness is an informer over the network. It records events and errors.
type NetworkHarness[T cache.Object] struct {
	T          *testing.T
	Store      cache.Reader[T]
	Controller *Informer[T]
	Clock      *ImpatientClock
	Events     chan string // receives events as RecordingHandler describes them
	Errors     chan error
	cancel     context.CancelFunc // cancels the informer's context
	stopped    chan error         // receives the result of the informer's Run
}

// RunOverNetwork runs an informer that does not wait between attempts, until the test ends.
func RunOverNetwork[T cache.Object](t *testing.T, lw cache.ListerWatcher, example T, edit ...func(*cache.ReflectorOptions)) *NetworkHarness[T] {
	t.Helper()
	h := &NetworkHarness[T]{
		T:       t,
		Clock:   &ImpatientClock{Waits: make(chan time.Duration, 10_000)},
		Events:  make(chan string, 10_000),
		Errors:  make(chan error, 10_000),
		stopped: make(chan error, 1),
	}
	options := cache.ReflectorOptions{
		Clock:        h.Clock,
		Backoff:      wait.Backoff{Duration: time.Millisecond, Factor: 1, Steps: 1},
		ErrorHandler: func(_ context.Context, err error) { TrySend(h.Errors, err) },
	}
	for _, e := range edit {
		e(&options)
	}
	h.Store, h.Controller = NewInformer(lw, example, 0, h.recordingHandler(), options)
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	go func() { h.stopped <- h.Controller.Run(ctx) }()
	t.Cleanup(h.End)
	return h
}

func (h *NetworkHarness[T]) recordingHandler() cache.EventHandler[T] {
	return cache.ResourceEventHandlerFuncs[T]{
		AddFunc:    func(obj T) { h.Events <- "A " + NameAtVersion(obj) },
		UpdateFunc: func(before, obj T) { h.Events <- "U " + NameAtVersion(before) + "→" + obj.GetResourceVersion() },
		DeleteFunc: func(obj T) { h.Events <- "D " + NameAtVersion(obj) },
	}
}

// Stop cancels the informer's context. The clock is real from then on: Run waits ten seconds for
// handlers, which a wait that is skipped would shorten.
func (h *NetworkHarness[T]) Stop() {
	h.Clock.stopSkipping()
	h.cancel()
}

// End stops the informer and checks that Run returns nil.
func (h *NetworkHarness[T]) End() {
	h.T.Helper()
	h.Stop()
	select {
	case err := <-h.stopped:
		if err != nil {
			h.T.Errorf("Run returned %v", err)
		}
		h.stopped <- nil // for the next End
	case <-time.After(Timeout):
		h.T.Errorf("Run did not return within %v after its context was cancelled", Timeout)
	}
}

// Expect checks the next events.
func (h *NetworkHarness[T]) Expect(want ...string) {
	h.T.Helper()
	for _, w := range want {
		if got := Next(h.T, h.Events); got != w {
			h.T.Fatalf("event %q, want %q", got, w)
		}
	}
}

// ExpectError blocks until an error is reported.
func (h *NetworkHarness[T]) ExpectError() {
	h.T.Helper()
	_ = Next(h.T, h.Errors)
}

// ExpectQuiet checks that no other event or error has been received.
func (h *NetworkHarness[T]) ExpectQuiet() {
	h.T.Helper()
	select {
	case event := <-h.Events:
		h.T.Errorf("event %q", event)
	case err := <-h.Errors:
		h.T.Errorf("error %v", err)
	default:
	}
}

// ExpectStreaming checks that the last response was streamed.
func (h *NetworkHarness[T]) ExpectStreaming() {
	h.T.Helper()
	if s := h.Controller.Status(); !s.Requests.Streaming || s.Requests.NotStreamingReason != "" {
		h.T.Errorf("streaming: %v, %q", s.Requests.Streaming, s.Requests.NotStreamingReason)
	}
}

// ExpectNotStreaming checks that the last response was not streamed, for a reason that contains
// reason.
func (h *NetworkHarness[T]) ExpectNotStreaming(reason string) {
	h.T.Helper()
	if s := h.Controller.Status(); s.Requests.Streaming || !strings.Contains(s.Requests.NotStreamingReason, reason) {
		h.T.Errorf("streaming: %v, %q, want a reason with %q", s.Requests.Streaming, s.Requests.NotStreamingReason, reason)
	}
}

// TrySend sends a value unless the channel is full. An informer that fails without waiting fills
// any channel, and must not block on it.
func TrySend[E any](c chan<- E, e E) {
	select {
	case c <- e:
	default:
	}
}

// Next returns the next value of a channel.
func Next[E any](t *testing.T, c <-chan E) E {
	t.Helper()
	select {
	case e := <-c:
		return e
	case <-time.After(Timeout):
		t.Fatalf("nothing received within %v", Timeout)
		panic("unreachable")
	}
}

// ExpectNext checks the next values of a channel.
func ExpectNext[E comparable](t *testing.T, c <-chan E, want ...E) {
	t.Helper()
	for _, w := range want {
		if got := Next(t, c); got != w {
			t.Fatalf("got %v, want %v", got, w)
		}
	}
}

// ImpatientClock is a clock that skips waits of up to maxSkippedWait, those between attempts: it is
// the real clock, put forward by each of them. Idle timeouts are longer. Waits of exactly a second,
// after which a reflector checks a resumed watch, are not skipped.
type ImpatientClock struct {
	clock.RealClock
	Waits chan time.Duration // receives the waits that were skipped

	mu      sync.Mutex
	skipped time.Duration // the sum of them
	patient bool          // no more waits are skipped
}

// maxSkippedWait is the time after which a reflector may make one more request.
const maxSkippedWait = 7500 * time.Millisecond

// Now returns the time.
func (c *ImpatientClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.RealClock.Now().Add(c.skipped)
}

// Since returns the time since t.
func (c *ImpatientClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// NewTimer returns a timer; see ImpatientClock.
func (c *ImpatientClock) NewTimer(d time.Duration) clock.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.patient || d > maxSkippedWait || d == time.Second {
		return c.RealClock.NewTimer(d)
	}
	TrySend(c.Waits, d)
	c.skipped += d
	return c.RealClock.NewTimer(0)
}

// stopSkipping makes the clock wait for its timers.
func (c *ImpatientClock) stopSkipping() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.patient = true
}
