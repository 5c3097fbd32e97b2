// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/fake"
)

// Proxy is a proxy of a fake API server. It records the protocols and encodings in use.
type Proxy struct {
	*httptest.Server
	API       *fake.APIServer
	Protocols sync.Map    // values of http.Request.Proto
	Encodings sync.Map    // values of the responses' Content-Encoding
	GoAway    atomic.Bool // closes the connection after each response
}

// NewProxy starts a proxy, which is closed when the test ends, and returns a client configuration
// for it. With secure it serves HTTP/2 over TLS.
func NewProxy(t *testing.T, secure bool) (*Proxy, *rest.Config) {
	t.Helper()
	api := StartAPIServer(t, fake.APIServerOptions{})
	p := &Proxy{API: api}
	p.Server = httptest.NewUnstartedServer(p.handler(t, api.URL()))
	config := p.start(secure)
	t.Cleanup(p.Close)
	return p, config
}

// StartAPIServer starts a fake API server, which is closed when the test ends.
func StartAPIServer(t *testing.T, options fake.APIServerOptions) *fake.APIServer {
	t.Helper()
	server, err := fake.StartAPIServer(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return server
}

// start starts the proxy and returns a client configuration for it.
func (p *Proxy) start(secure bool) *rest.Config {
	config := &rest.Config{QPS: -1}
	if secure {
		p.EnableHTTP2 = true
		p.StartTLS()
		config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
	} else {
		p.Start()
	}
	config.Host = p.URL
	return config
}

// handler forwards requests to the API server.
func (p *Proxy) handler(t *testing.T, to string) http.Handler {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		ModifyResponse: func(response *http.Response) error {
			p.Encodings.Store(response.Header.Get("Content-Encoding"), true)
			if p.GoAway.Load() {
				response.Header.Set("Connection", "close") // in HTTP/2, GOAWAY
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.Protocols.Store(r.Proto, true)
		proxy.ServeHTTP(w, r)
	})
}

// Must calls write, such as fake.APIServer.Create, which must succeed.
func Must(t *testing.T, write func(fake.Object) error, obj fake.Object) {
	t.Helper()
	if err := write(obj); err != nil {
		t.Fatal(err)
	}
}
