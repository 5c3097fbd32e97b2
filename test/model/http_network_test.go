// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// pipes is an HTTP server and the transport of its client, whose connections are pipes inside the
// bubble.
type pipes struct {
	server    *http.Server
	transport *http.Transport
	listener  *cachetest.PipeListener
}

// newPipes starts a server.
func newPipes(handler http.Handler, http2 bool) *pipes {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetUnencryptedHTTP2(http2)
	p := &pipes{listener: cachetest.NewPipeListener()}
	p.server = &http.Server{Handler: handler, Protocols: protocols, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	p.transport = &http.Transport{ // with the timeouts of client-go
		DialContext: p.dial, Protocols: protocols, IdleConnTimeout: 90 * time.Second,
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
	go func() { _ = p.server.Serve(p.listener) }()
	return p
}

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p.listener.Enqueue(server)
	return client, nil
}

// stop ends the server and closes all connections.
func (p *pipes) stop() {
	_ = p.server.Close()
	p.transport.CloseIdleConnections()
}

// streamingClient returns a client that is prepared for streaming.
func streamingClient(transport http.RoundTripper, format cachetest.Format) rest.Interface {
	config := &rest.Config{Host: "http://server", QPS: -1, Transport: transport}
	if format == cachetest.Formats["protobuf"] {
		config.ContentType = format.ListType
	}
	cache.EnableStreaming(config)
	return corev1client.NewForConfigOrDie(config).RESTClient()
}

// network is the HTTP server of the model.
type network struct {
	*pipes
	model    *server
	format   cachetest.Format
	compress bool
}

func newNetwork(s *server, o options) *network {
	n := &network{model: s, format: cachetest.Formats[o.Wire], compress: o.Gzip}
	n.pipes = newPipes(n, o.HTTP2)
	return n
}

func (n *network) client() rest.Interface { return streamingClient(recordingTransport{n}, n.format) }

// recordingTransport records the requests of the informer. The server may receive more of them: the
// transport repeats one that fails on a connection that it has used before.
type recordingTransport struct{ *network }

func (t recordingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("continue") == "" {
		t.model.mu.Lock()
		t.model.record(targetOf(optionsOf(r)))
		t.model.mu.Unlock()
	}
	return t.transport.RoundTrip(r)
}
