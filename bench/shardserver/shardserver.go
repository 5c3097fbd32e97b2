// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package shardserver serves Pods over plain HTTP to replicas that share them, as an API server
// with or without the feature gate ShardedListAndWatch does: from encoded protobuf in memory, so
// that its CPU does not slow the client down.
package shardserver

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/internal/envelope"
	"github.com/kinformer/kinformer/internal/loopback"
	"github.com/kinformer/kinformer/internal/scope"
)

// Server is a running server.
type Server struct {
	*loopback.Server

	gate bool // it applies shard selectors
	uids []string

	mu      sync.Mutex // guards the fields below
	pods    *dataset.Encoded
	version int // the newest resourceVersion is dataset.Version(version)
	watches map[*clientWatch]struct{}
}

// clientWatch is an open watch.
type clientWatch struct {
	keep   func(i int) bool
	frames chan []byte
	ended  <-chan struct{}
}

// Start serves Pods, each in its first version, on a free loopback port. gate is the feature gate.
// The caller must not use the Pods until Close.
func Start(pods *dataset.Encoded, uids []string, gate bool) (*Server, error) {
	for i := range uids {
		pods.Touch(i, i) // an earlier server may have changed it
	}
	s := &Server{gate: gate, uids: uids, pods: pods, version: len(uids), watches: make(map[*clientWatch]struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/pods", s.servePods)
	mux.HandleFunc("POST /bench/update", s.serveUpdate)
	var err error
	s.Server, err = loopback.Start(mux)
	return s, err
}

// servePods serves lists and watches of all Pods, or of those that the shard selector selects.
func (s *Server) servePods(w http.ResponseWriter, r *http.Request) {
	pods, keep := s.pods, func(int) bool { return true }
	if selector := r.FormValue("shardSelector"); s.gate && selector != "" {
		ranges, err := scope.ParseShardSelector(selector)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		keep = func(i int) bool { return inRanges(ranges, s.uids[i]) }
		pods = pods.Shard(selector, keep)
	}
	if watch := r.FormValue("watch"); watch == "true" || watch == "1" {
		s.serveWatch(w, r, keep)
		return
	}
	s.mu.Lock()
	body := pods.List(s.version)
	s.mu.Unlock()
	w.Header().Set("Content-Type", pods.ListContentType())
	w.Header().Set("Content-Length", strconv.FormatInt(dataset.ListSize(body), 10))
	_, _ = body.WriteTo(w) // fails if the client has disconnected
}

func inRanges(ranges []scope.Range, uid string) bool {
	return slices.ContainsFunc(ranges, func(r scope.Range) bool { return r.Contains(uid) })
}

// serveWatch sends events until the client disconnects.
func (s *Server) serveWatch(w http.ResponseWriter, r *http.Request, keep func(i int) bool) {
	client := &clientWatch{keep: keep, frames: make(chan []byte, 1024), ended: r.Context().Done()}
	s.mu.Lock()
	s.watches[client] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watches, client)
	}()
	w.Header().Set("Content-Type", s.pods.WatchContentType())
	w.WriteHeader(http.StatusOK)
	flush(w)
	for {
		select {
		case <-client.ended:
			return
		case frame := <-client.frames:
			if _, err := w.Write(frame); err != nil {
				return
			}
			if len(client.frames) == 0 {
				flush(w)
			}
		}
	}
}

func flush(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush() // if it fails, so does the next write
}

// serveUpdate updates every Pod once and sends the events and, at the end, a bookmark. It returns
// the last resourceVersion.
func (s *Server) serveUpdate(w http.ResponseWriter, r *http.Request) {
	if !s.waitForWatch(r.Context()) {
		return
	}
	for i := range s.uids {
		s.update(i)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	version := dataset.Version(s.version)
	bookmark, err := envelope.Of("v1", "Pod", false).Bookmark(version, false)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for client := range s.watches {
		client.send(bookmark)
	}
	fmt.Fprint(w, version)
}

// update gives a Pod the next version, and sends an event to the watches that select it.
func (s *Server) update(i int) {
	s.mu.Lock()
	s.version++
	s.pods.Touch(i, s.version)
	frame := s.pods.Frame(watch.Modified, i)
	watches := slices.Collect(maps.Keys(s.watches))
	s.mu.Unlock()
	for _, client := range watches {
		if client.keep(i) {
			client.send(frame)
		}
	}
}

func (c *clientWatch) send(frame []byte) {
	select {
	case c.frames <- frame:
	case <-c.ended:
	}
}

// waitForWatch waits until a watch is open. The server keeps no history for one that starts later.
// It returns false if ctx ends first.
func (s *Server) waitForWatch(ctx context.Context) bool {
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		s.mu.Lock()
		open := len(s.watches)
		s.mu.Unlock()
		if open > 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}
