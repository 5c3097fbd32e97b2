// Package loopback starts HTTP servers for processes of this machine.
package loopback

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Server is a server that listens.
type Server struct {
	url  string
	http *http.Server
	done chan struct{}
}

// Start serves on a loopback port of its own.
func Start(handler http.Handler) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{
		url:  "http://" + listener.Addr().String(),
		http: &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second},
		done: make(chan struct{}),
	}
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
