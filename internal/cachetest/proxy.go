package cachetest

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/fake"
)

// Proxy is a proxy of a fake API server. It records the protocols and encodings in use.
type Proxy struct {
	*httptest.Server
	API       *fake.APIServer
	Protocols sync.Map    // values of http.Request.Proto
	Encodings sync.Map    // of responses
	GoAway    atomic.Bool // closes the connection after each response
}

// NewProxy starts a proxy and returns a client configuration for it. With secure it serves HTTP/2 over
// TLS.
func NewProxy(t *testing.T, secure bool) (*Proxy, *rest.Config) {
	t.Helper()
	api, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(api.URL())
	if err != nil {
		t.Fatal(err)
	}
	f := &Proxy{API: api}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		ModifyResponse: func(response *http.Response) error {
			f.Encodings.Store(response.Header.Get("Content-Encoding"), true)
			if f.GoAway.Load() {
				response.Header.Set("Connection", "close") // in HTTP/2, GOAWAY
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.Protocols.Store(r.Proto, true)
		proxy.ServeHTTP(w, r)
	}))
	config := &rest.Config{QPS: -1}
	if secure {
		f.EnableHTTP2 = true
		f.StartTLS()
		config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
	} else {
		f.Start()
	}
	config.Host = f.URL
	t.Cleanup(func() {
		f.Close()
		if err := api.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return f, config
}

// Must calls do, which must succeed.
func Must(t *testing.T, do func(fake.Object) error, obj fake.Object) {
	t.Helper()
	if err := do(obj); err != nil {
		t.Fatal(err)
	}
}

// ServeStatus responds with an error, as an API server does.
func ServeStatus(code int, retryAfter string, reason ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"set by the test","reason":%q,"code":%d}`, slices.Concat(reason, []string{""})[0], code)
	}
}
