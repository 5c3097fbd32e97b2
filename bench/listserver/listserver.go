// Package listserver serves one list of objects over plain HTTP as an API server
// does, as long as it may be: objects are made while they are sent. Nothing changes
// in it, and its watches say nothing.
package listserver

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/kinformer/kinformer/bench/dataset"
)

// Server is a server that listens.
type Server struct {
	url  string
	http *http.Server
	done chan struct{}
}

// Start serves the first n objects under every path, on a loopback port of its own:
// who asks for anything else than their list gets that list.
func Start(objects *dataset.Stored, n int) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{url: "http://" + listener.Addr().String(), done: make(chan struct{})}
	s.http = &http.Server{Handler: handler(objects, n), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(listener) // until Close
	}()
	return s, nil
}

// URL is where the server is.
func (s *Server) URL() string { return s.url }

// Close ends the server and all its watches.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

func handler(objects *dataset.Stored, n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if watch := r.FormValue("watch"); watch != "true" && watch != "1" {
			w.Header().Set("Content-Type", objects.ContentType())
			_ = objects.WriteList(w, n) // a client that has gone is no error here
			return
		}
		w.Header().Set("Content-Type", objects.ContentType()+";stream=watch")
		w.WriteHeader(http.StatusOK)
		if http.NewResponseController(w).Flush() == nil {
			<-r.Context().Done()
		}
	}
}
