// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// Harness is an informer of Pods on a fake server, inside a synctest bubble. It records events,
// errors and requests.
type Harness struct {
	*fake.ListerWatcher[*corev1.Pod] // the server

	T *testing.T

	// The following fields may be set before Run.

	// Source is what the informer lists and watches; the harness itself by default.
	Source cache.ListerWatcher
	// KeepWatchesOpen removes the timeout from watch requests, so that the server never closes
	// them.
	KeepWatchesOpen bool
	// Handler is the informer's handler; by default the one that records events.
	Handler      cache.EventHandler[*corev1.Pod]
	ResyncPeriod time.Duration

	// Run sets the following fields.

	Store      cache.Reader[*corev1.Pod]
	Controller *Informer[*corev1.Pod]
	Stop       context.CancelFunc // cancels the informer's context
	stopped    chan error         // receives the result of the informer's Run

	mu        sync.Mutex // guards the fields below
	events    []string
	delivered map[string]*corev1.Pod // the collection according to the delivered events
	errs      []error
}

// InBubble runs a test with a running informer of the Pods a, b and c in namespace ns, at the
// versions 2, 3 and 4. before is called before the informer runs. After the test it checks that
// handler and store agree, and that the informer stops promptly and for good.
func InBubble(t *testing.T, test func(h *Harness), before ...func(h *Harness)) {
	t.Helper()
	InBubbleWithOptions(t, cache.ReflectorOptions{}, test, before...)
}

// InBubbleWithOptions is InBubble with options.
func InBubbleWithOptions(t *testing.T, options cache.ReflectorOptions, test func(h *Harness), before ...func(h *Harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := New(t)
		for _, prepare := range before {
			prepare(h)
		}
		h.Run(options)
		test(h)
		h.CheckHandlerState()
		h.CheckStop()
	})
}

// New returns a harness with the Pods a, b and c. Its informer is not running.
func New(t *testing.T) *Harness {
	t.Helper()
	h := &Harness{ListerWatcher: fake.NewListerWatcher(&corev1.Pod{}), T: t, delivered: make(map[string]*corev1.Pod)}
	h.Source, h.Handler = h, h.RecordingHandler()
	for _, name := range []string{"a", "b", "c"} {
		h.Create(Pod(name))
	}
	return h
}

// Watch opens a watch, without a timeout if KeepWatchesOpen is set.
func (h *Harness) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if h.KeepWatchesOpen {
		options.TimeoutSeconds = nil
	}
	return h.ListerWatcher.Watch(ctx, options)
}

// Run makes the informer, runs it until Stop, and blocks until all goroutines are idle.
func (h *Harness) Run(options cache.ReflectorOptions) {
	options.ErrorHandler = h.Report
	h.Store, h.Controller = NewInformer(h.Source, &corev1.Pod{}, h.ResyncPeriod, h.Handler, options)
	ctx, cancel := context.WithCancel(h.T.Context())
	h.Stop, h.stopped = cancel, make(chan error, 1)
	go func() { h.stopped <- h.Controller.Run(ctx) }()
	synctest.Wait()
}

// Expire ends the open watches with a 410. The next list and the next watch take a millisecond,
// unless a fault was injected before, so that the state that the informer gets has the changes that
// a test makes before it advances the time.
func (h *Harness) Expire() {
	h.InjectListFault(1, fake.Fault{Delay: time.Millisecond})
	h.InjectWatchFault(1, fake.Fault{Delay: time.Millisecond})
	h.Send(fake.ErrorEvent(fake.Expired()))
}

// Stopped returns the channel that receives the result of the informer's Run.
func (h *Harness) Stopped() <-chan error { return h.stopped }

// RunReflector runs a reflector that writes to store, instead of an informer, until stop.
func (h *Harness) RunReflector(store cache.ReflectorStore[*corev1.Pod]) (stop func()) {
	reflector := cache.NewReflector(h.Source, &corev1.Pod{}, store, cache.ReflectorOptions{StartAny: true, ErrorHandler: h.Report})
	ctx, cancel := context.WithCancel(h.T.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- reflector.Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-stopped; err != nil {
			h.T.Errorf("Run: %v", err)
		}
	}
}

// Report is an ErrorHandler that records errors.
func (h *Harness) Report(_ context.Context, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errs = append(h.errs, err)
}

// RecordingHandler returns a handler that records events as "A name@version", "U name@old→new" and
// "D name@last", and checks that each event may follow the previous one of its object.
func (h *Harness) RecordingHandler() cache.EventHandler[*corev1.Pod] {
	return cache.ResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc:    func(pod *corev1.Pod) { h.record("A", nil, pod) },
		UpdateFunc: func(before, pod *corev1.Pod) { h.record("U", before, pod) },
		DeleteFunc: func(pod *corev1.Pod) { h.record("D", pod, nil) },
	}
}

// record records the event that took an object from one state to another, either of which may be
// nil.
func (h *Harness) record(verb string, before, after *corev1.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checkEvent(verb, before, after)
	switch verb {
	case "A":
		h.events = append(h.events, "A "+NameAtVersion(after))
	case "U":
		h.events = append(h.events, "U "+NameAtVersion(before)+"→"+after.ResourceVersion)
	case "D":
		h.events = append(h.events, "D "+NameAtVersion(before))
		delete(h.delivered, before.Namespace+"/"+before.Name)
		return
	}
	h.delivered[after.Namespace+"/"+after.Name] = after
}

// checkEvent checks an event against the last delivered state of its object.
func (h *Harness) checkEvent(verb string, before, after *corev1.Pod) {
	latest := after
	if latest == nil {
		latest = before
	}
	key := latest.Namespace + "/" + latest.Name
	last, known := h.delivered[key]
	if known != (verb != "A") {
		h.T.Errorf("event %s %s, delivered before: %v", verb, key, known)
	}
	if known && last.UID != latest.UID && last.UID != "" {
		h.T.Errorf("event %s %s with UID %s, last delivered %s", verb, key, latest.UID, last.UID)
	}
	if verb == "U" && before != last {
		h.T.Errorf("update of %s from %s, last delivered %s", key, before.ResourceVersion, last.ResourceVersion)
	}
}

// CheckHandlerState checks that the delivered events add up to the store's content.
func (h *Harness) CheckHandlerState() {
	h.T.Helper()
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if delivered, stored := Describe(slices.Collect(maps.Values(h.delivered))), h.Stored(); delivered != stored {
		h.T.Errorf("the delivered events add up to [%s], the store holds [%s]", delivered, stored)
	}
}

// CheckStop stops the informer, unless the test has, and checks that Run returns within a second
// and that no request, event or error follows.
func (h *Harness) CheckStop() {
	h.T.Helper()
	synctest.Wait()
	before := len(h.Requests())
	h.checkRunReturns()
	if late := h.Requests()[before:]; len(late) > 0 {
		h.T.Errorf("requests after the context was cancelled: %v", late)
	}
	requests, events, errs := len(h.Requests()), len(h.events), len(h.errs)
	h.CloseWatches()
	Advance(time.Hour)
	if len(h.Requests()) != requests || len(h.events) != events || len(h.errs) != errs {
		h.T.Errorf("after Run returned: %d requests, %d events, %d errors", len(h.Requests())-requests, len(h.events)-events, len(h.errs)-errs)
	}
	if phase := h.Controller.Status().Phase; phase != cache.PhaseStopped {
		h.T.Errorf("phase %s after Run returned", phase)
	}
}

// checkRunReturns stops the informer and checks that Run returns nil within a second.
func (h *Harness) checkRunReturns() {
	h.T.Helper()
	began := time.Now()
	h.Stop()
	select {
	case err := <-h.stopped:
		if took := time.Since(began); err != nil || took > time.Second {
			h.T.Errorf("Run returned %v, %v after its context was cancelled", err, took)
		}
	case <-time.After(time.Minute):
		h.T.Fatal("Run did not return within a minute after its context was cancelled")
	}
}
