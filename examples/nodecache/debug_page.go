// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/debug"
)

// debugPage is a server of the debug page.
type debugPage struct {
	url    string
	server *http.Server
	ended  chan struct{} // closed when the server has ended
}

// Timeouts of a request to the debug page.
const (
	headerTimeout  = 5 * time.Second
	requestTimeout = 30 * time.Second
)

// serveDebugPage serves the page of an informer. An address without a host, such as ":8080", is one
// of the loopback interface: the page has no authentication.
func serveDebugPage(ctx context.Context, address string, informer cache.Viewable) (*debugPage, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("invalid --debug-addr: %w", err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("serve the debug page: %w", err)
	}
	p := &debugPage{
		url:    fmt.Sprintf("http://%s/", listener.Addr()),
		server: &http.Server{Handler: debug.Handler(debug.Options{}, informer), ReadHeaderTimeout: headerTimeout, WriteTimeout: requestTimeout},
		ended:  make(chan struct{}),
	}
	go func() {
		defer close(p.ended)
		_ = p.server.Serve(listener) // http.ErrServerClosed
	}()
	return p, nil
}

// close ends the server and the requests in progress.
func (p *debugPage) close() {
	_ = p.server.Close() // the listener is closed in any case
	<-p.ended
}
