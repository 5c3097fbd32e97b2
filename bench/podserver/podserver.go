// Package podserver serves Pods of a data set over plain HTTP as an API server
// does, in protobuf and from memory, so that what a client costs is not hidden
// behind what a server costs. It knows no selectors, no namespaces and no writes:
// changes are made by asking for them at /bench/.
package podserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/loopback"
)

// Server is a server that listens. Its watches are fed by one goroutine each.
type Server struct {
	*loopback.Server

	mu      sync.Mutex // guards the rest
	pods    *dataset.Encoded
	version int                      // of the collection
	watches map[chan []byte]struct{} // frames for each open watch
}

// Pods encodes the first n Pods of a set, for servers to serve one after the other.
func Pods(set dataset.Replicas, n int) (*dataset.Encoded, error) {
	return dataset.Encode("v1", "Pod", dataset.NewPods(set, 1).Take(n))
}

// Start serves Pods on a loopback port of its own, each in its first version. Until
// Close they are the server's.
func Start(pods *dataset.Encoded) (*Server, error) {
	n := pods.Len()
	for i := range n {
		pods.Touch(i, i) // a server before may have changed it
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

const contentType = "application/vnd.kubernetes.protobuf"

func (s *Server) servePods(w http.ResponseWriter, r *http.Request) {
	if r.FormValue("watch") == "true" || r.FormValue("watch") == "1" {
		s.serveWatch(w, r)
		return
	}
	s.mu.Lock()
	body := s.pods.List(s.version)
	s.mu.Unlock()
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.FormatInt(dataset.ListSize(body), 10))
	_, _ = body.WriteTo(w) // a client that has gone is no error here
}

func (s *Server) serveWatch(w http.ResponseWriter, r *http.Request) {
	frames := make(chan []byte, 1024)
	s.mu.Lock()
	s.watches[frames] = struct{}{}
	initial := s.initial(r)
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

// initial returns the frames that a WatchList begins with.
func (s *Server) initial(r *http.Request) (frames [][]byte) {
	if r.FormValue("sendInitialEvents") != "true" {
		return nil
	}
	for i := range s.pods.Len() {
		frames = append(frames, s.pods.Frame(watch.Added, i))
	}
	return append(frames, mustFrame(watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: dataset.Version(s.version),
		Annotations:     map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}))
}

func flush(w http.ResponseWriter) {
	if err := http.NewResponseController(w).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return // the next write will fail, too
	}
}

// serveUpdate gives count Pods a new version each, one after the other, and sends
// the events.
func (s *Server) serveUpdate(w http.ResponseWriter, r *http.Request) {
	count, err := strconv.Atoi(r.FormValue("count"))
	if err != nil {
		http.Error(w, "count: "+err.Error(), http.StatusBadRequest)
		return
	}
	if !s.watched(r.Context()) {
		return
	}
	for i := range count {
		s.mu.Lock()
		frame := s.touch(i % s.pods.Len())
		var to []chan []byte
		for frames := range s.watches {
			to = append(to, frames)
		}
		s.mu.Unlock()
		for _, frames := range to {
			frames <- frame
		}
	}
	fmt.Fprint(w, s.at())
}

// watched waits until a watch is open: an informer that has listed is about to open
// one, and this server keeps no history of what it would have missed.
func (s *Server) watched(ctx context.Context) bool {
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

// touch gives a Pod the next version and returns the event.
func (s *Server) touch(i int) []byte {
	s.version++
	s.pods.Touch(i, s.version)
	return s.pods.Frame(watch.Modified, i)
}

// serveExpire changes the count first Pods behind the watches' backs, and ends the
// watches with 410 Gone.
func (s *Server) serveExpire(w http.ResponseWriter, r *http.Request) {
	count, err := strconv.Atoi(r.FormValue("count"))
	if err != nil {
		http.Error(w, "count: "+err.Error(), http.StatusBadRequest)
		return
	}
	if !s.watched(r.Context()) {
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
	fmt.Fprint(w, s.at())
}

func (s *Server) at() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return dataset.Version(s.version)
}
