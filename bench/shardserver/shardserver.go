// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package shardserver serves Pods over plain HTTP to replicas that share them, as an API server
// with or without the feature gate ShardedListAndWatch does: from encoded protobuf in memory, so
// that its CPU does not slow the client down.
package shardserver

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/testing/envelope"
	"github.com/kinformer/kinformer/internal/testing/footprint"
	"github.com/kinformer/kinformer/internal/testing/loopback"
)

// Server is a running server.
type Server struct {
	*loopback.Server

	gate   bool     // it applies shard selectors
	hashes []uint64 // of the UIDs of the Pods

	mu      sync.Mutex // guards the fields below
	pods    *dataset.Encoded
	version int // the newest resourceVersion is dataset.Version(version)
	watches map[*clientWatch]struct{}
}

// clientWatch is an open watch.
type clientWatch struct {
	keep   []bool // by the number of the Pod; nil keeps all
	frames chan []byte
	ended  <-chan struct{}
}

// Start serves Pods, each in its first version, on a free loopback port. gate is the feature gate.
// The caller must not use the Pods until Close.
func Start(pods *dataset.Encoded, uids []string, gate bool) (*Server, error) {
	s := &Server{gate: gate, pods: pods, version: len(uids), watches: make(map[*clientWatch]struct{})}
	for i, uid := range uids {
		pods.Touch(i, i) // an earlier server may have changed it
		s.hashes = append(s.hashes, scope.HashOf(uid))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/pods", s.servePods)
	mux.HandleFunc("POST /bench/update", s.serveUpdate)
	var err error
	s.Server, err = loopback.Start(mux)
	return s, err
}

// servePods serves lists and watches of all Pods, or of those that the shard selector selects.
func (s *Server) servePods(w http.ResponseWriter, r *http.Request) {
	selector := r.FormValue("shardSelector")
	keep, err := s.selected(selector)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if watch := r.FormValue("watch"); watch == "true" || watch == "1" {
		s.serveWatch(w, r, keep)
		return
	}
	s.serveList(w, r, selector, keep)
}

// selected returns which Pods a selector selects, nil if it is all of them.
func (s *Server) selected(selector string) (keep []bool, err error) {
	if selector == "" || !s.gate {
		return nil, nil
	}
	ranges, err := scope.ParseShardSelector(selector)
	for _, hash := range s.hashes {
		keep = append(keep, slices.ContainsFunc(ranges, func(r scope.Range) bool { return r.First <= hash && hash <= r.Last }))
	}
	return keep, err
}

func (s *Server) serveList(w http.ResponseWriter, r *http.Request, selector string, keep []bool) {
	s.mu.Lock()
	pods := s.pods
	if keep != nil {
		pods = pods.Shard(selector, func(i int) bool { return keep[i] })
	}
	body := pods.List(s.version, dataset.PageOf(r, pods.Len()))
	s.mu.Unlock()
	w.Header().Set("Content-Type", pods.ListContentType())
	w.Header().Set("Content-Length", strconv.FormatInt(dataset.ListSize(body), 10))
	_, _ = body.WriteTo(w) // fails if the client has disconnected
}

// serveWatch sends events until the client disconnects.
func (s *Server) serveWatch(w http.ResponseWriter, r *http.Request, keep []bool) {
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
	for i := range s.hashes {
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
	var watches []*clientWatch
	for client := range s.watches {
		if client.keep == nil || client.keep[i] {
			watches = append(watches, client)
		}
	}
	var frame []byte
	if len(watches) > 0 {
		frame = s.pods.Frame(watch.Modified, i)
	}
	s.mu.Unlock()
	for _, client := range watches {
		client.send(frame)
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
	return footprint.Poll(ctx, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.watches) > 0
	}) == nil
}
