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
	"github.com/kinformer/kinformer/internal/cachetest"
)

// network is an HTTP server of the model and its client, whose connections are pipes inside the
// bubble.
type network struct {
	model     *server
	format    cachetest.Format
	compress  bool
	server    *http.Server
	transport *http.Transport
	listener  *cachetest.PipeListener
}

// newNetwork starts the server.
func newNetwork(s *server, o options) *network {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!o.HTTP2)
	protocols.SetUnencryptedHTTP2(o.HTTP2)
	n := &network{model: s, format: cachetest.Formats[o.Wire], compress: o.Gzip, listener: cachetest.NewPipeListener()}
	n.server = &http.Server{Handler: n, Protocols: protocols, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	n.transport = &http.Transport{ // with the timeouts of client-go
		DialContext: n.dial, Protocols: protocols, IdleConnTimeout: 90 * time.Second,
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
	go func() { _ = n.server.Serve(n.listener) }()
	return n
}

func (n *network) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	n.listener.Enqueue(server)
	return client, nil
}

// stop ends the server and closes all connections.
func (n *network) stop() {
	_ = n.server.Close()
	n.transport.CloseIdleConnections()
}

// client returns a client that is prepared for streaming.
func (n *network) client() rest.Interface {
	config := &rest.Config{Host: "http://server", QPS: -1, Transport: recordingTransport{n}}
	if n.format == cachetest.Formats["protobuf"] {
		config.ContentType = n.format.ListType
	}
	cache.EnableStreaming(config)
	return corev1client.NewForConfigOrDie(config).RESTClient()
}

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
