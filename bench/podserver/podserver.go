// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package podserver serves Pods over plain HTTP as an API server does, from encoded protobuf in
// memory, so that the server's CPU does not dominate the client's. It supports no selectors,
// namespaces or writes. Requests under /bench/ change the Pods.
package podserver

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/internal/testing/footprint"
	"github.com/kinformer/kinformer/internal/testing/loopback"
)

// Server is a running server.
type Server struct {
	*loopback.Server

	compress bool // lists, for clients that accept it

	mu      sync.Mutex // guards the fields below
	pods    *dataset.Encoded
	version int                      // the newest resourceVersion is dataset.Version(version)
	watches map[chan []byte]struct{} // of frames, one for each open watch
}

// Pods encodes the first n Pods of a set. Several servers may serve them, one after the other.
func Pods(perWorkload dataset.PodsPerWorkload, n int) (*dataset.Encoded, error) {
	return dataset.Encode("v1", "Pod", dataset.NewPods(perWorkload, 1).Take(n))
}

// Start serves Pods, each in its first version, on a free loopback port. The caller must not use
// the Pods until Close.
func Start(pods *dataset.Encoded) (*Server, error) {
	n := pods.Len()
	for i := range n {
		pods.Touch(i, i) // an earlier server may have changed it
	}
	s := &Server{
		pods:    pods,
		version: n,
		watches: make(map[chan []byte]struct{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/pods", s.servePods)
	mux.HandleFunc("POST /bench/update", s.serveUpdate)
	mux.HandleFunc("POST /bench/expire", s.serveExpire)
	var err error
	s.Server, err = loopback.Start(mux)
	return s, err
}

// CompressLists makes the server compress lists for clients that accept it. It must be called
// before the first request.
func (s *Server) CompressLists() { s.compress = true }

// Compress writes a compressed list, as kube-apiserver does.
func Compress(w io.Writer, list net.Buffers) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	if _, err := list.WriteTo(compressed); err != nil {
		return err
	}
	return compressed.Close()
}

const contentType = "application/vnd.kubernetes.protobuf"

func (s *Server) servePods(w http.ResponseWriter, r *http.Request) {
	if r.FormValue("watch") == "true" || r.FormValue("watch") == "1" {
		s.serveWatch(w, r)
		return
	}
	s.mu.Lock()
	body := s.pods.List(s.version, dataset.PageOf(r, s.pods.Len()))
	s.mu.Unlock()
	w.Header().Set("Content-Type", contentType)
	if s.compress && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		_ = Compress(w, body) // fails if the client has disconnected
		return
	}
	w.Header().Set("Content-Length", strconv.FormatInt(dataset.ListSize(body), 10))
	_, _ = body.WriteTo(w) // fails if the client has disconnected
}

func (s *Server) serveWatch(w http.ResponseWriter, r *http.Request) {
	frames := make(chan []byte, 1024)
	s.mu.Lock()
	s.watches[frames] = struct{}{}
	initial := s.initialFrames(r)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watches, frames)
	}()
	w.Header().Set("Content-Type", contentType+";stream=watch")
	w.WriteHeader(http.StatusOK)
	for _, frame := range initial {
		if _, err := w.Write(frame); err != nil {
			return
		}
	}
	flush(w)
	for {
		select {
		case <-r.Context().Done():
			return
		case frame := <-frames:
			if _, err := w.Write(frame); err != nil {
				return
			}
			if len(frames) == 0 {
				flush(w)
			}
			if len(frame) > 0 && isLast(frame) {
				return
			}
		}
	}
}

// initialFrames returns the initial events of a WatchList, none for another watch.
func (s *Server) initialFrames(r *http.Request) (frames [][]byte) {
	if r.FormValue("sendInitialEvents") != "true" {
		return nil
	}
	for i := range s.pods.Len() {
		frames = append(frames, s.pods.Frame(watch.Added, i))
	}
	return append(frames, initialEventsEnd(dataset.Version(s.version)))
}

func flush(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush() // if it fails, so does the next write
}

// serveUpdate makes count updates of Pods, one after the other, and sends an event for each. See
// updated for the order. change is a dataset.Change.
func (s *Server) serveUpdate(w http.ResponseWriter, r *http.Request) {
	count, ok := s.countOnceWatched(w, r)
	if !ok {
		return
	}
	burst, _ := strconv.Atoi(r.FormValue("burst"))
	for i := range count {
		s.mu.Lock()
		pod := updated(i, burst) % s.pods.Len()
		if !s.pods.Apply(dataset.Change(r.FormValue("change")), pod) {
			s.mu.Unlock()
			http.Error(w, "change: unknown", http.StatusBadRequest)
			return
		}
		frame := s.touch(pod)
		watches := slices.Collect(maps.Keys(s.watches))
		s.mu.Unlock()
		for _, frames := range watches {
			frames <- frame
		}
	}
	fmt.Fprint(w, s.resourceVersion())
}

// burstUpdates is the number of updates of each Pod of a burst.
const burstUpdates = 4

// updated returns the Pod of the i-th update: each Pod in turn or, if burst is not zero, that many
// Pods in turn, burstUpdates times each, then the next as many.
func updated(i, burst int) int {
	if burst == 0 {
		return i
	}
	return i/(burst*burstUpdates)*burst + i%burst
}

// countOnceWatched returns a request's count once a watch is open. If ok is false, the request is
// finished.
func (s *Server) countOnceWatched(w http.ResponseWriter, r *http.Request) (count int, ok bool) {
	count, err := strconv.Atoi(r.FormValue("count"))
	if err != nil {
		http.Error(w, "count: "+err.Error(), http.StatusBadRequest)
		return 0, false
	}
	return count, s.waitForWatch(r.Context())
}

// waitForWatch waits until a watch is open. An informer opens one soon after its list, and the
// server keeps no history for a watch that starts later. It returns false if ctx ends first.
func (s *Server) waitForWatch(ctx context.Context) bool {
	return footprint.Poll(ctx, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.watches) > 0
	}) == nil
}

// touch gives a Pod the next version and returns the event's frame. s.mu must be held.
func (s *Server) touch(i int) []byte {
	s.version++
	s.pods.Touch(i, s.version)
	return s.pods.Frame(watch.Modified, i)
}

// serveExpire changes the first count Pods without sending events, and ends all watches with 410
// Gone.
func (s *Server) serveExpire(w http.ResponseWriter, r *http.Request) {
	count, ok := s.countOnceWatched(w, r)
	if !ok {
		return
	}
	s.mu.Lock()
	for i := range count {
		s.touch(i)
	}
	for frames := range s.watches {
		frames <- expired()
	}
	s.mu.Unlock()
	fmt.Fprint(w, s.resourceVersion())
}

func (s *Server) resourceVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return dataset.Version(s.version)
}
