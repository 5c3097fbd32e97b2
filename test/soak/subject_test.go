// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package soak_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// subject runs informers of one kind, one after the other, with the same client.
type subject struct {
	kind
	network

	t           *testing.T
	newInformer constructor

	// The fields below are those of the running informer.
	informer informer
	handlers []*handler
	cancel   context.CancelFunc
	result   chan error // of Run
}

// startSubject starts an informer of a kind.
func startSubject(t *testing.T, server *fake.APIServer, k kind) *subject {
	t.Helper()
	s := &subject{kind: k, t: t}
	config := server.Config()
	config.UserAgent = k.name
	s.attach(config)
	if k.streaming {
		cache.EnableStreaming(config)
	}
	s.newInformer = k.connect(config)
	s.start()
	return s
}

// start starts a new informer with handlers of every pace.
func (s *subject) start() {
	s.informer, s.handlers, s.result = s.newInformer(), nil, make(chan error, 1)
	for _, pace := range paces {
		s.addHandler(pace)
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	s.cancel = cancel
	go func() { s.result <- s.informer.Run(ctx) }()
}

func (s *subject) addHandler(pace string) {
	h := newHandler(pace)
	remove, err := s.informer.add(h)
	if err != nil {
		s.t.Fatal(err)
	}
	h.remove = remove
	s.handlers = append(s.handlers, h)
}

// exchangeHandler removes the oldest handler, in whatever state it is, and adds another one of its
// pace.
func (s *subject) exchangeHandler() {
	old := s.handlers[0]
	ctx, cancel := context.WithTimeout(context.Background(), 10*slowness)
	defer cancel()
	if err := old.remove(ctx); err != nil && !errors.Is(err, cache.ErrHandlerBlocked) {
		s.t.Errorf("%s: the handler %q was removed: %v", s.name, old.pace, err)
	}
	old.release()
	s.handlers = s.handlers[1:]
	s.addHandler(old.pace)
}

// block makes the calls of some handlers block.
func (s *subject) block() {
	for _, h := range s.handlers {
		h.block()
	}
}

// release ends the calls that block. Until block is called, no other call blocks.
func (s *subject) release() {
	for _, h := range s.handlers {
		h.release()
	}
}

// stopLimit is how long Run may take to return, on a slow machine. It waits ten seconds for a
// blocked handler.
const stopLimit = 30 * time.Second

// stop stops the informer, in whatever state it is. Run of the adapter waits for handlers, as
// client-go's does.
func (s *subject) stop() {
	if _, ok := s.informer.(adapter); ok {
		s.release()
	}
	s.cancel()
	select {
	case err := <-s.result:
		if err != nil && !errors.Is(err, cache.ErrHandlerBlocked) {
			s.t.Errorf("%s: Run returned %v", s.name, err)
		}
	case <-time.After(stopLimit):
		s.t.Fatalf("%s: Run has not returned %v after the informer was stopped: %+v", s.name, stopLimit, s.informer.Status())
	}
	s.release()
	s.forgetRequests()
}

// difference describes a difference between the server, the store and the handlers. It is empty if
// there is none.
func (s *subject) difference(want map[string]string) string {
	cached := s.informer.versions()
	if !maps.Equal(cached, want) {
		return "the store differs from the server"
	}
	for _, h := range s.handlers {
		if difference := h.difference(cached); difference != "" {
			return difference
		}
	}
	return ""
}

// calls returns the number of calls of the handlers.
func (s *subject) calls() (n int) {
	for _, h := range s.handlers {
		h.mu.Lock()
		n += h.calls
		h.mu.Unlock()
	}
	return n
}
