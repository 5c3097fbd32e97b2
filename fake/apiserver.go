package fake

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/fake/internal/codec"
	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/registry"
	"github.com/kinformer/kinformer/fake/internal/resource"
	fakerest "github.com/kinformer/kinformer/fake/internal/rest"
)

// The defaults of APIServerOptions.
const (
	defaultBookmarkPeriod = time.Minute
	defaultWriteTimeout   = 30 * time.Second
)

// APIServerOptions is how an APIServer is set up. The zero value is what most want.
type APIServerOptions struct {
	// HistoryLimit is how many changes of each resource are remembered for watches and exact lists; 0 means 4,096.
	HistoryLimit int
	// BookmarkPeriod is the time between two bookmarks on a watch that allows them; 0 means a minute, as on a real server.
	BookmarkPeriod time.Duration
	// WriteTimeout is how long a watcher may leave what it is sent unread, once the connection's buffers are full, before the connection is closed;
	// 0 means 30 seconds.
	WriteTimeout time.Duration
	// Token, if not empty, is the bearer token that every request must bring, but those for /healthz, /livez and /readyz; 401 without it. Config has it.
	Token string
	// TLS makes the server speak HTTPS, and HTTP/2 with clients that can, with a certificate made at the start. Config has what verifies it.
	TLS bool
	// CustomResources are served from the start, beside the built-in resources.
	CustomResources []CustomResource
}

// withDefaults returns the options with every zero replaced.
func (o APIServerOptions) withDefaults() APIServerOptions {
	if o.BookmarkPeriod == 0 {
		o.BookmarkPeriod = defaultBookmarkPeriod
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = defaultWriteTimeout
	}
	return o
}

// APIServer is a Kubernetes API server in this process, on a loopback port, with its objects in memory. It is a test double: any client of the
// real one can talk to it, and requests are answered as there, but objects are not validated beyond their metadata, defaulted, admitted, stored on disk
// or acted upon by any controller. Package internal/conformance compares it with a kube-apiserver, and lists the differences.
//
// It serves every resource that client-go's clientset knows, CustomResourceDefinitions, and the resources that these define:
//
//   - get, list, watch, create, update, patch (JSON, merge, strategic merge), delete, deletecollection, the status subresource, Namespaces' finalize and
//     the binding of Pods. Server-side apply is answered with 415;
//   - label and field selectors, pages, exact and not-older-than lists, bookmarks, WatchList, 409 for a stale resourceVersion and 410 for one that is
//     forgotten, preconditions, dry runs, generations, finalizers;
//   - JSON and protobuf, the latter not for custom resources, as PartialObjectMetadata, and as the Tables that kubectl shows;
//   - discovery, so that kubectl, the dynamic and the metadata client and a RESTMapper find their way.
//
// Each version of a built-in group has objects of its own; the versions of a custom resource share them, and differ in apiVersion alone.
//
// A Pod on a node that is deleted stays, with a deletionTimestamp, until it is deleted with gracePeriodSeconds 0, as a kubelet does. A Namespace that is
// deleted stays until its finalizer is removed through the subresource finalize. A CustomResourceDefinition goes at once, with all objects of its resource.
//
// The methods Get, Create, Update, UpdateStatus and Delete do what the requests of those names do, without HTTP and without validation of metadata, for
// simulations that write a lot; Delete removes at once what a request would only mark. All methods may be called from any goroutine.
type APIServer struct {
	memory   *history.Memory
	registry *registry.Registry
	http     *http.Server
	url      string
	options  APIServerOptions
	ca       []byte // verifies the server's certificate; nil without TLS
	faults   requestFaults
	closing  chan struct{} // closed first thing on Close: ends the watches
	close    sync.Once
	served   chan error // what Serve returned, once it has
}

// StartAPIServer starts a server on a free port of 127.0.0.1. Close it to end its goroutines.
func StartAPIServer(options APIServerOptions) (*APIServer, error) {
	options = options.withDefaults()
	memory := history.NewMemory()
	s := &APIServer{
		memory:   memory,
		registry: registry.New(memory, resource.BuiltIn(), options.HistoryLimit),
		options:  options,
		closing:  make(chan struct{}),
		served:   make(chan error, 1),
	}
	for _, custom := range options.CustomResources {
		if err := s.Create(custom.Definition()); err != nil {
			return nil, fmt.Errorf("the fake API server cannot serve %s: %w", custom.Plural, err)
		}
	}
	s.http = &http.Server{Handler: s.handler(), ReadHeaderTimeout: time.Minute, ErrorLog: klog.NewStandardLogger("WARNING")}
	if err := s.listen(); err != nil {
		return nil, fmt.Errorf("the fake API server cannot listen: %w", err)
	}
	return s, nil
}

func (s *APIServer) handler() http.Handler {
	return &fakerest.Handler{
		Codecs:         codec.NewSet(),
		Registry:       s.registry,
		Token:          s.options.Token,
		Faults:         s.faults.take,
		BookmarkPeriod: s.options.BookmarkPeriod,
		WriteTimeout:   s.options.WriteTimeout,
		Closing:        s.closing,
	}
}

// listen starts to serve.
func (s *APIServer) listen() error {
	var pair tls.Certificate
	var err error
	if s.options.TLS {
		if pair, s.ca, err = newCertificate(); err != nil {
			return err
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if !s.options.TLS {
		s.url = "http://" + listener.Addr().String()
		go func() { s.served <- s.http.Serve(listener) }()
		return nil
	}
	s.url = "https://" + listener.Addr().String()
	s.http.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	go func() { s.served <- s.http.ServeTLS(listener, "", "") }()
	return nil
}

// URL returns where the server is, as http://127.0.0.1:port, or https with TLS.
func (s *APIServer) URL() string {
	return s.url
}

// Config returns a new configuration for clients of this server, with what the server asks for: JSON, and without client-go's limit on the rate of
// requests.
func (s *APIServer) Config() *rest.Config {
	return &rest.Config{
		Host:            s.url,
		QPS:             -1,
		BearerToken:     s.options.Token,
		TLSClientConfig: rest.TLSClientConfig{CAData: s.ca},
	}
}

// Close ends all watches, lets other requests finish until ctx ends and cuts those that have not, and waits for the server's goroutines. It returns
// ctx's error if something had to be cut. Closing again does nothing.
func (s *APIServer) Close(ctx context.Context) error {
	var err error
	s.close.Do(func() {
		close(s.closing)
		if err = s.http.Shutdown(ctx); err != nil {
			err = errors.Join(err, s.http.Close())
		}
		if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
	})
	return err
}

// ResourceVersion returns the version of the last write, of whatever resource.
func (s *APIServer) ResourceVersion() string {
	return history.FormatVersion(s.memory.Version())
}

// Compact makes the server forget all changes up to now: a watch or an exact list at an older version gets 410. Watches that have kept up go on.
func (s *APIServer) Compact() {
	s.memory.Compact()
}

// Bookmark makes all open watches that allow bookmarks send one now.
func (s *APIServer) Bookmark() {
	s.memory.Bookmark()
}
