// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// network is a network inside a synctest bubble, whose connections are pipes. At its only address
// is an HTTP server of the harness's collection, so that the faults of a fake.ListerWatcher reach
// the informer through a client and a connection, on the bubble's clock.
type network struct {
	*cachetest.Harness
	protocols *http.Protocols
	transport *http.Transport

	mu sync.Mutex // guards the fields below
	// intercept, if set, answers a request in place of the server, and reports whether it did.
	intercept   func(w http.ResponseWriter, r *http.Request) bool
	server      *http.Server
	listener    *cachetest.PipeListener // nil while the server is stopped
	balanced    bool                    // connections to a stopped server are closed, and not refused
	closed      []time.Time             // when they were
	connections []*connection           // that were ever opened
	received    []received              // requests to the server
}

// received is a request that the server has received.
type received struct {
	*http.Request
	at time.Time
}

func (r received) String() string {
	verb, query := "list", r.URL.Query()
	if query.Has("watch") {
		verb = "watch"
	}
	return verb + "@" + query.Get("resourceVersion")
}

// protocol is a version of HTTP.
type protocol string

const (
	http1 protocol = "HTTP/1.1"
	http2 protocol = "HTTP/2"
)

// client says how the informer reads.
type client string

const (
	streamingClient client = "streaming"
	decodingClient  client = "decoded"
)

// eachClient runs a test for each protocol and client.
func eachClient(t *testing.T, test func(t *testing.T, connect func(h *cachetest.Harness) *network)) {
	t.Helper()
	for _, version := range []protocol{http1, http2} {
		for _, reads := range []client{streamingClient, decodingClient} {
			t.Run(string(version)+", "+string(reads), func(t *testing.T) {
				test(t, func(h *cachetest.Harness) *network { return connectOver(h, version, reads) })
			})
		}
	}
}

// overNetwork is cachetest.InBubbleWithOptions with an informer that reads over a network.
func overNetwork(t *testing.T, version protocol, reads client, options cache.ReflectorOptions, test func(h *cachetest.Harness, n *network), before ...func(h *cachetest.Harness, n *network)) {
	t.Helper()
	var n *network
	cachetest.InBubbleWithOptions(t, options, func(h *cachetest.Harness) { test(h, n) }, func(h *cachetest.Harness) {
		n = connectOver(h, version, reads)
		for _, prepare := range before {
			prepare(h, n)
		}
	})
}

// overEachClient is overNetwork for each protocol and client.
func overEachClient(t *testing.T, options cache.ReflectorOptions, test func(h *cachetest.Harness, n *network), before ...func(h *cachetest.Harness, n *network)) {
	t.Helper()
	for _, version := range []protocol{http1, http2} {
		for _, reads := range []client{streamingClient, decodingClient} {
			t.Run(string(version)+", "+string(reads), func(t *testing.T) {
				overNetwork(t, version, reads, options, test, before...)
			})
		}
	}
}

// connectOver puts a network between the harness and its server.
func connectOver(h *cachetest.Harness, version protocol, reads client) *network {
	n := &network{Harness: h, protocols: new(http.Protocols)}
	n.protocols.SetHTTP1(version == http1)
	n.protocols.SetUnencryptedHTTP2(version == http2)
	n.transport = &http.Transport{ // with the timeouts of client-go
		DialContext:     n.dial,
		Protocols:       n.protocols,
		IdleConnTimeout: 90 * time.Second,
		HTTP2:           &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
	n.start()
	h.T.Cleanup(func() {
		n.stop()
		n.transport.CloseIdleConnections()
	})
	config := &rest.Config{Host: "http://server", QPS: -1, Transport: n.transport}
	if reads == streamingClient {
		cache.EnableStreaming(config)
	}
	pods := corev1client.NewForConfigOrDie(config).RESTClient()
	h.Source = cache.NewListWatchFromClient(pods, "pods", metav1.NamespaceAll, nil)
	return n
}

// start starts the server.
func (n *network) start() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listener = cachetest.NewPipeListener()
	n.server = &http.Server{Handler: n, Protocols: n.protocols, ReadHeaderTimeout: time.Minute}
	go func(s *http.Server, l net.Listener) { _ = s.Serve(l) }(n.server, n.listener)
}

// stop ends the server and closes its connections. Later connections are refused.
func (n *network) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listener = nil
	_ = n.server.Close()
}

// dial opens a connection to the server.
func (n *network) dial(context.Context, string, string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listener == nil && n.balanced {
		n.closed = append(n.closed, time.Now())
		return closedAfterRequest(), nil
	}
	if n.listener == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: cachetest.ErrConnectionRefused}
	}
	client, server := net.Pipe()
	c := &connection{client: client, server: server}
	n.connections = append(n.connections, c)
	n.listener.Enqueue(&serverEnd{server, c})
	return &clientEnd{client, c}, nil
}

// closedAfterRequest returns a connection that is accepted, and closed once a request has been
// sent, as by a balancer that reaches no server.
func closedAfterRequest() net.Conn {
	client, server := net.Pipe()
	go func() {
		_, _ = http.ReadRequest(bufio.NewReader(server))
		_ = server.Close()
	}()
	return client
}

// each calls do for each connection.
func (n *network) each(do func(c *connection)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.connections {
		do(c)
	}
}

// forget forgets the connections that were opened so far.
func (n *network) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.connections = nil
}

// connection is a connection of a client to the server.
type connection struct {
	client, server net.Conn
	dead           atomic.Bool // drops everything that is sent, as if a router had forgotten it
	reset          atomic.Bool // the client receives a reset
}

// kill makes the connection drop everything that is sent.
func (c *connection) kill() { c.dead.Store(true) }

// resetByPeer resets the connection.
func (c *connection) resetByPeer() {
	c.reset.Store(true)
	_ = c.server.Close()
}

// serverEnd is the server's end of a connection.
type serverEnd struct {
	net.Conn
	*connection
}

func (e *serverEnd) Write(p []byte) (int, error) {
	if e.dead.Load() {
		return len(p), nil
	}
	return e.Conn.Write(p)
}

// Close closes the end. The client of a dead connection does not receive it.
func (e *serverEnd) Close() error {
	if e.dead.Load() {
		return nil
	}
	return e.Conn.Close()
}

// clientEnd is the client's end of a connection.
type clientEnd struct {
	net.Conn
	*connection
}

func (e *clientEnd) Read(p []byte) (int, error) {
	n, err := e.Conn.Read(p)
	if err != nil && e.reset.Load() {
		err = &net.OpError{Op: "read", Net: "tcp", Err: cachetest.ErrConnectionReset}
	}
	return n, err
}

func (e *clientEnd) Write(p []byte) (int, error) {
	if e.dead.Load() {
		return len(p), nil
	}
	return e.Conn.Write(p)
}

// ServeHTTP answers lists and watches.
func (n *network) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	n.received = append(n.received, received{r, time.Now()})
	intercept := n.intercept
	n.mu.Unlock()
	if intercept != nil && intercept(w, r) {
		return
	}
	n.serve(w, r)
}

// serve answers a request from the harness's collection.
func (n *network) serve(w http.ResponseWriter, r *http.Request) {
	var options metav1.ListOptions
	if err := scheme.ParameterCodec.DecodeParameters(r.URL.Query(), corev1.SchemeGroupVersion, &options); err != nil {
		n.T.Error(err)
	}
	format := cachetest.Formats["JSON"]
	if strings.Contains(r.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
		format = cachetest.Formats["protobuf"]
	}
	if options.Watch {
		n.serveWatch(w, r, format, options)
		return
	}
	list, err := n.List(r.Context(), options)
	if err != nil {
		cachetest.ServeError(w, err)
		return
	}
	cachetest.Serve(format.ListType, format.Encode(cachetest.WithType(list)))(w, r)
}

func (n *network) serveWatch(w http.ResponseWriter, r *http.Request, format cachetest.Format, options metav1.ListOptions) {
	options.Watch = false
	stream, err := n.Watch(r.Context(), options)
	if err != nil {
		cachetest.ServeError(w, err)
		return
	}
	defer stream.Stop()
	w.Header().Set("Content-Type", format.WatchType)
	_ = http.NewResponseController(w).Flush()
	cachetest.ServeEvents(r.Context(), stream, func(event watch.Event) error {
		_, err := w.Write(format.Frame(event.Type, format.Encode(cachetest.WithType(event.Object))))
		_ = http.NewResponseController(w).Flush()
		return err
	})
}

// requests describes the requests that the server has received, as "verb@resourceVersion", those
// that were intercepted included.
func (n *network) requests() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var words []string
	for _, r := range n.received {
		words = append(words, r.String())
	}
	return strings.Join(words, " ")
}

// since returns the time from t to the nth request that the server received after t.
func (n *network) since(t time.Time, nth int) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	after := slices.DeleteFunc(slices.Clone(n.received), func(r received) bool { return r.at.Before(t) })
	if len(after) < nth {
		n.T.Fatalf("%d requests, want at least %d", len(after), nth)
	}
	return after[nth-1].at.Sub(t)
}

// replaceBy returns an EditEvent function that sends one event in place of each.
func replaceBy(event watch.Event) func(watch.Event) []watch.Event {
	return func(watch.Event) []watch.Event {
		return []watch.Event{{Type: event.Type, Object: event.Object.DeepCopyObject()}}
	}
}
