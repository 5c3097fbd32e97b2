// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package soak_test

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
)

// Paces of handlers.
const (
	paceFast    = "fast"
	paceSlow    = "slow"
	paceBlocked = "blocked" // until the faults end
	pacePanic   = "panicking"
	paceExit    = "exiting" // ends its goroutine
	paceKeys    = "keys"    // a key handler where the informer has such, and otherwise fast
)

var paces = []string{paceFast, paceSlow, paceBlocked, pacePanic, paceExit, paceKeys}

const (
	// slowness is how long a slow handler takes, once in ten calls.
	slowness = 5 * time.Millisecond
	// failEvery is how many calls of a handler lead to one that panics or ends its goroutine.
	// After a panic, the adapter rests for a second, as client-go does.
	failEvery = 1000
)

// handler checks the events that it receives.
type handler struct {
	pace   string
	remove func(ctx context.Context) error

	mu        sync.Mutex    // guards the fields below
	gate      chan struct{} // calls of a handler that blocks wait until it is closed
	calls     int
	delivered map[string]string // resourceVersions by key
	violation string            // the first event that must not have come
}

func newHandler(pace string) *handler {
	return &handler{pace: pace, gate: make(chan struct{}), delivered: make(map[string]string)}
}

func (h *handler) block() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gate = make(chan struct{})
}

func (h *handler) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.gate:
	default:
		close(h.gate)
	}
}

// receive handles an event.
func (h *handler) receive(event cache.EventType, old, obj metav1.Object) {
	h.mu.Lock()
	h.calls++
	switch event {
	case cache.EventAdd:
		h.expect(event, obj, "")
		h.delivered[keyOf(obj)] = obj.GetResourceVersion()
	case cache.EventUpdate:
		h.expect(event, obj, old.GetResourceVersion())
		h.delivered[keyOf(obj)] = obj.GetResourceVersion()
	case cache.EventDelete:
		h.expect(event, old, h.delivered[keyOf(old)]) // it may show a later state
		delete(h.delivered, keyOf(old))
	}
	calls, gate := h.calls, h.gate
	h.mu.Unlock()
	h.behave(calls, gate)
}

// expect checks the state that was delivered last. It is empty for an addition alone.
func (h *handler) expect(event cache.EventType, obj metav1.Object, last string) {
	known := h.delivered[keyOf(obj)]
	if h.violation == "" && (known != last || (known == "") != (event == cache.EventAdd)) {
		h.violation = fmt.Sprintf("the handler %q received %s of %s at %s with the old version %q, after %q",
			h.pace, event, keyOf(obj), obj.GetResourceVersion(), last, known)
	}
}

// key handles the key of an object that is now current, or does not exist if that is nil.
func (h *handler) key(key string, current func(key string) metav1.Object) {
	obj := current(key)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls++
	if obj == nil {
		delete(h.delivered, key)
	} else {
		h.delivered[key] = obj.GetResourceVersion()
	}
}

func (h *handler) behave(calls int, gate <-chan struct{}) {
	switch {
	case h.pace == paceBlocked:
		<-gate
	case h.pace == paceSlow && calls%10 == 0:
		<-time.After(slowness)
	case h.pace == pacePanic && calls%failEvery == 0:
		panic("asked for")
	case h.pace == paceExit && calls%failEvery == 0:
		runtime.Goexit()
	}
}

// difference describes how the delivered events differ from the cache, or an event that must not
// have come.
func (h *handler) difference(cached map[string]string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.violation != "" || maps.Equal(h.delivered, cached) {
		return h.violation
	}
	return fmt.Sprintf("the handler %q differs from the store", h.pace)
}

func keyOf(obj metav1.Object) string { return obj.GetNamespace() + "/" + obj.GetName() }
