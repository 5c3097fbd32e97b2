// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
	"github.com/kinformer/kinformer/internal/testing/goroutines"
)

// TestStreamingOverHTTP1AndHTTP2 lists a collection large enough for compression and watches it
// over connections that close. The watch is resumed.
func TestStreamingOverHTTP1AndHTTP2(t *testing.T) {
	for name, secure := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
			t.Run(name+" "+contentType, func(t *testing.T) {
				proxy, config := cachetest.NewProxy(t, secure)
				config.ContentType = contentType
				const nodes = 200
				for i := range nodes {
					n := cachetest.Node(fmt.Sprintf("node-%03d", i), "")
					n.Annotations = map[string]string{"large": strings.Repeat(fmt.Sprint(i), 1000)}
					cachetest.Must(t, proxy.API.Create, n)
				}
				h := cachetest.RunOverNetwork(t, cachetest.NodesOf(config), &corev1.Node{})
				for range nodes {
					cachetest.Next(t, h.Events)
				}
				last := cachetest.Node("last", "")
				cachetest.Must(t, proxy.API.Create, last)
				h.Expect("A " + cachetest.NameAtVersion(last))

				proxy.GoAway.Store(true)
				proxy.CloseClientConnections()
				cachetest.Must(t, proxy.API.Create, cachetest.Node("after-close", ""))
				if got := cachetest.Next(t, h.Events); !strings.HasPrefix(got, "A after-close") {
					t.Errorf("event %s", got)
				}
				proxy.CloseClientConnections()
				cachetest.Must(t, proxy.API.Delete, last)
				h.Expect("D " + cachetest.NameAtVersion(last))
				if s := h.Controller.Status(); s.Requests.Lists != 1 || s.Store.Objects != nodes+1 {
					t.Errorf("%d lists, %d objects", s.Requests.Lists, s.Store.Objects)
				}
				h.ExpectStreaming()
				if _, ok := proxy.Protocols.Load(name); !ok {
					t.Errorf("no request over %s", name)
				}
				if _, ok := proxy.Encodings.Load("gzip"); !ok {
					t.Error("no response was compressed")
				}
			})
		}
	}
}

// TestClientTimeoutResumesTheWatch sets a timeout of the client, which ends each watch without an
// error. A resumed watch starts before the last changes, which the server repeats.
func TestClientTimeoutResumesTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that the list does not reach the timeout on a slow machine
		f := cachetest.Formats["protobuf"]
		s := cachetest.NewUnstartedScript()
		s.Lists = []http.HandlerFunc{cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1")))}
		s.Watches = []http.HandlerFunc{
			s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("b", "4"))),
			s.ServeOpen(f.WatchType, slices.Concat(f.Event(watch.Added, cachetest.Node("b", "4")), f.Event(watch.Added, cachetest.Node("c", "5")))),
		}
		config := startOnPipes(t, s)
		config.Timeout = time.Second
		h := cachetest.RunOverNetwork(t, cachetest.NodesOf(config), &corev1.Node{})
		h.Expect("A a@1", "A b@4", "A c@5")
		cachetest.ExpectNext(t, s.Requests, "list@0", "watch@3", "watch@3", "watch@3")
		h.ExpectQuiet()
	})
}

// startOnPipes starts a server in a synctest bubble, until the test ends.
func startOnPipes(t *testing.T, handler http.Handler) *rest.Config {
	t.Helper()
	listener := cachetest.NewPipeListener()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		listener.Enqueue(server)
		return client, nil
	}}
	t.Cleanup(func() {
		_ = server.Close()
		transport.CloseIdleConnections()
	})
	return &rest.Config{Host: "http://server", QPS: -1, Transport: transport}
}

// TestCancelLeavesNothingOpen stops an informer in each phase of its requests. No goroutine is
// left, of the client or the server.
func TestCancelLeavesNothingOpen(t *testing.T) {
	for format, f := range cachetest.Formats {
		for _, http2 := range []bool{false, true} {
			for phase, test := range phases(f) {
				t.Run(fmt.Sprintf("%s, HTTP/2 %v, %s", format, http2, phase), func(t *testing.T) {
					before := goleak.IgnoreCurrent()
					s := cachetest.NewUnstartedScript()
					s.Lists, s.Watches = []http.HandlerFunc{test.list}, []http.HandlerFunc{test.watch}
					config := start(s, http2)
					client, err := rest.HTTPClientFor(config)
					if err != nil {
						t.Fatal(err)
					}
					h := cachetest.RunOverNetwork(t, cachetest.NodesOf(config), &corev1.Node{}, func(o *cache.ReflectorOptions) {
						o.Backoff = wait.Backoff{Duration: time.Hour, Steps: 1}
					})
					cachetest.ExpectNext(t, s.Requests, "list@0")
					if test.watch != nil {
						h.Expect("A a@1")
						cachetest.ExpectNext(t, s.Requests, "watch@3")
					}
					if test.fails {
						h.ExpectError()
					}
					h.End()
					h.ExpectQuiet()
					client.CloseIdleConnections()
					s.Close() // waits for open responses
					goroutines.VerifyNone(t, before)
				})
			}
		}
	}
}

// phase is a server's responses to a list and a watch.
type phase struct {
	list, watch http.HandlerFunc
	fails       bool // the list fails
}

// phases returns responses that keep an informer in each phase of its requests.
func phases(f cachetest.Format) map[string]phase {
	nodes, event := f.Nodes("3", cachetest.Node("a", "1")), f.Event(watch.Added, cachetest.Node("b", "4"))
	list := cachetest.Serve(f.ListType, nodes)
	return map[string]phase{
		"before the list's headers":  {list: stall("", nil)},
		"in a list":                  {list: stall(f.ListType, nodes[:len(nodes)-3])},
		"before the watch's headers": {list: list, watch: stall("", nil)},
		"in an idle watch":           {list: list, watch: stall(f.WatchType, []byte{})},
		"in an event":                {list: list, watch: stall(f.WatchType, event[:len(event)-9])},
		"in backoff":                 {list: cachetest.ServeStatus(500, ""), fails: true},
	}
}

// stall returns a handler that sends a part of a body, or not even headers if it is nil, and waits
// until the client closes the connection.
func stall(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if body != nil {
			cachetest.Serve(contentType, body)(w, r)
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}
}

// start starts a server and returns a client configuration for it.
func start(s *cachetest.Script, http2 bool) *rest.Config {
	s.Server = httptest.NewUnstartedServer(s)
	if http2 {
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Start()
	}
	config := s.Config()
	config.Insecure = http2
	return config
}
