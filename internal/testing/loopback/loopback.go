// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package loopback runs HTTP servers on the loopback interface.
package loopback

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Server is a running HTTP server.
type Server struct {
	url  string
	http *http.Server
	done chan struct{}
}

// Start serves on a free loopback port.
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

// URL returns the server's address.
func (s *Server) URL() string { return s.url }

// Close stops the server and closes its connections.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}
