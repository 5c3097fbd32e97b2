package fake

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

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
// real one can talk to it, and list and watch behave as there, but nothing is authenticated, validated, defaulted, admitted, stored on disk or
// acted upon by any controller.
//
// It serves every resource that client-go's clientset knows, in JSON and protobuf: get, list, watch, create, update, delete and the status subresource, with
// label and field selectors, pages, bookmarks, WatchList, 409 for a stale resourceVersion and 410 for one that is forgotten. Each version of a group
// has objects of its own.
//
// The methods Get, Create, Update, UpdateStatus and Delete do what the requests of those names do, without HTTP, for simulations that write a lot.
// All methods may be called from any goroutine.
type APIServer struct {
	memory   *history.Memory
	registry *registry.Registry
	http     *http.Server
	address  string
	closing  chan struct{} // closed first thing on Close: ends the watches
	close    sync.Once
	served   chan error // what Serve returned, once it has
}

// StartAPIServer starts a server on a free port of 127.0.0.1. Close it to end its goroutines.
func StartAPIServer(options APIServerOptions) (*APIServer, error) {
	options = options.withDefaults()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the fake API server cannot listen: %w", err)
	}
	memory := history.NewMemory()
	s := &APIServer{
		memory:   memory,
		registry: registry.New(memory, resource.BuiltIn(), options.HistoryLimit),
		address:  listener.Addr().String(),
		closing:  make(chan struct{}),
		served:   make(chan error, 1),
	}
	s.http = &http.Server{
		Handler: &fakerest.Handler{
			Codecs:         codec.NewSet(),
			Registry:       s.registry,
			BookmarkPeriod: options.BookmarkPeriod,
			WriteTimeout:   options.WriteTimeout,
			Closing:        s.closing,
		},
		ReadHeaderTimeout: time.Minute,
	}
	go func() { s.served <- s.http.Serve(listener) }()
	return s, nil
}

// URL returns where the server is, as http://127.0.0.1:port.
func (s *APIServer) URL() string {
	return "http://" + s.address
}

// Config returns a new configuration for clients of this server: JSON, and without client-go's limit on the rate of requests.
func (s *APIServer) Config() *rest.Config {
	return &rest.Config{Host: s.URL(), QPS: -1}
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

// Get reads the object with obj's namespace and name into obj.
func (s *APIServer) Get(obj Object) error {
	return s.inProcess(obj, func(store *registry.Store, request history.Object) (history.Object, error) {
		return store.Get(request.GetNamespace(), request.GetName())
	})
}

// Create creates obj. On success obj is as the server holds it, with name, UID, resourceVersion and creationTimestamp.
func (s *APIServer) Create(obj Object) error {
	return s.inProcess(obj, func(store *registry.Store, request history.Object) (history.Object, error) {
		return store.Create(request.GetNamespace(), request)
	})
}

// Update replaces the stored object, but for its status where that is a subresource. If obj has a resourceVersion it must be the current one. On
// success obj is as the server holds it.
func (s *APIServer) Update(obj Object) error {
	return s.inProcess(obj, func(store *registry.Store, request history.Object) (history.Object, error) {
		return store.Update(request.GetNamespace(), request.GetName(), request)
	})
}

// UpdateStatus replaces the status of the stored object and nothing else. If obj has a resourceVersion it must be the current one. On success
// obj is as the server holds it.
func (s *APIServer) UpdateStatus(obj Object) error {
	return s.inProcess(obj, func(store *registry.Store, request history.Object) (history.Object, error) {
		if !store.HasStatus {
			return nil, fmt.Errorf("cannot update the status of %s %q: %s has no status subresource", store.Kind.Kind, history.KeyOf(request), store.Resource.Resource)
		}
		return store.UpdateStatus(request.GetNamespace(), request.GetName(), request)
	})
}

// Delete deletes the object with obj's namespace and name. If obj has a UID it must be that of the stored one. On success obj is its last state, with
// the version of the delete.
func (s *APIServer) Delete(obj Object) error {
	return s.inProcess(obj, func(store *registry.Store, request history.Object) (history.Object, error) {
		opts := &metav1.DeleteOptions{}
		if uid := request.GetUID(); uid != "" {
			opts.Preconditions = &metav1.Preconditions{UID: &uid}
		}
		return store.Delete(request.GetNamespace(), request.GetName(), opts)
	})
}

// inProcess does what a request would do with a copy of obj, and puts a copy of the answer into obj, without kind and apiVersion if it had none.
func (s *APIServer) inProcess(obj Object, request func(*registry.Store, history.Object) (history.Object, error)) error {
	store, err := s.registry.ForObject(obj)
	if err != nil {
		return err
	}
	answer, err := request(store, clone(obj))
	if err != nil {
		return err
	}
	kind := obj.GetObjectKind().GroupVersionKind()
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(clone(answer)).Elem())
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return nil
}
