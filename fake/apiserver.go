// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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
	"github.com/kinformer/kinformer/fake/internal/fault"
	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/registry"
	"github.com/kinformer/kinformer/fake/internal/resource"
	fakerest "github.com/kinformer/kinformer/fake/internal/rest"
)

// Defaults of APIServerOptions.
const (
	defaultBookmarkPeriod = time.Minute
	defaultWriteTimeout   = 30 * time.Second
)

// APIServerOptions configures an [APIServer]. The zero value is valid.
type APIServerOptions struct {
	// HistoryLimit is the number of changes kept per resource, for watches and for lists at an
	// exact resourceVersion. Zero means 4,096.
	HistoryLimit int
	// BookmarkPeriod is the time between bookmarks on watches that allow them. Zero means one
	// minute, as in kube-apiserver.
	BookmarkPeriod time.Duration
	// WriteTimeout bounds each write of a watch event. The connection is closed if the client does
	// not read for that long while the connection's buffers are full. Zero means 30 seconds.
	WriteTimeout time.Duration
	// Token, if not empty, is the bearer token that requests must carry. Requests without it get
	// 401, except for /healthz, /livez and /readyz. Config includes the token.
	Token string
	// NoWatchTimeout makes the server ignore timeoutSeconds of watches, and its own limit of 30 to
	// 60 minutes for those without. A watch ends only by its client, by a fault, with its resource,
	// or by Close. In a testing/synctest bubble an hour takes no time, and without this option each
	// watch ends and is resumed many times, which tells nothing about the code under test.
	NoWatchTimeout bool
	// TLS serves HTTPS, and HTTP/2 to clients that support it, with a self-signed certificate that
	// is generated at the start. Config includes the certificate as CA.
	TLS bool
	// InMemory serves without a port: the clients of Config reach the server through the Transport
	// of the configuration, which has no sockets. Such a server works in the testing/synctest
	// bubble in which it is started and closed. TLS has no effect then.
	InMemory bool
	// CustomResources are served from the start, in addition to the built-in resources.
	CustomResources []CustomResource
	// ShardedListAndWatch is the feature gate of the same name at the start; see
	// [APIServer.SetShardedListAndWatch].
	ShardedListAndWatch bool
}

// withDefaults returns the options with defaults in place of zero durations.
func (o APIServerOptions) withDefaults() APIServerOptions {
	if o.BookmarkPeriod == 0 {
		o.BookmarkPeriod = defaultBookmarkPeriod
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = defaultWriteTimeout
	}
	return o
}

// APIServer is an in-process Kubernetes API server with its objects in memory. It is a test double:
// unmodified clients can use it, and its responses are those of kube-apiserver, but of built-in
// objects it validates metadata only, it has no admission plugins except NamespaceLifecycle, and it
// runs no controllers.
//
// It serves every resource of client-go's clientset, CustomResourceDefinitions, the custom
// resources that these define, and APIServices, with:
//
//   - get, list, watch, create, update, patch (JSON, merge, strategic merge, server-side apply),
//     delete, deletecollection, the status subresource, finalize for Namespaces and binding for
//     Pods;
//   - label and field selectors, shard selectors (see SetShardedListAndWatch), pagination, lists
//     with resourceVersionMatch Exact and NotOlderThan, bookmarks, WatchList, 409 for a stale
//     resourceVersion, 410 for one that is no longer in the history, preconditions, dry runs,
//     generations, finalizers;
//   - JSON, protobuf (not for custom resources), and PartialObjectMetadata. There are no Tables,
//     without which kubectl get prints names and ages;
//   - discovery, aggregated and in the older form, for kubectl, RESTMappers, and the dynamic and
//     metadata clients. Groups and versions have the order of kube-apiserver.
//
// Each group and version has an APIService. Those of custom resources follow their definitions, and
// Aggregate creates those of aggregated APIs. A write of an APIService's status has the effect of
// SetAvailable.
//
// Built-in objects get the defaults that kube-apiserver sets, and what else it sets for
// controllers: selector and labels of a Job, cluster IPs and node ports of a Service, and QoS
// class, priority and the usual tolerations of a Pod. Cluster IPs and node ports are a sequence,
// and are not checked against those that clients choose. A Pod has the service account of its spec
// only. PersistentVolumes and their claims have no protection finalizer, and Nodes no taints: only
// controllers remove these.
//
// Unlike in kube-apiserver, each version of a built-in group has its own objects. The versions of a
// custom resource share their objects, which differ in apiVersion and in the fields of their
// schemas. By the schema of a CustomResourceDefinition, or of [CustomResource].Schema, the server
// removes unknown fields and sets defaults, with the warnings or errors that fieldValidation asks
// for. Then it validates the object, with kube-apiserver's own validator: a request that does not
// match the schema gets 422, with the same causes as there. As there, an update may keep an invalid
// value that is unchanged, for example after a change of the schema. Rules in CEL,
// x-kubernetes-validations, are not evaluated; the server logs this once for each definition that
// has some. The schemas themselves are not validated, except for the types of their keywords, and
// the paths of the scale subresource are ignored.
//
// A deleted Pod that is bound to a node stays, with a deletionTimestamp, until a request deletes it
// with gracePeriodSeconds 0, as the kubelet's does on a real cluster. A deleted Namespace stays
// until its finalizer is removed through the finalize subresource. Until then, creates in it are
// refused with 403 and the cause NamespaceTerminating. Once it is removed, creates and updates in
// it are refused with 404, until it is created again. Objects that are in it can be deleted at any
// time. Unlike in kube-apiserver, a Namespace that was never created need not exist. A deleted
// CustomResourceDefinition stays, with a deletionTimestamp and the condition Terminating, until all
// objects of its resource are removed, which the server deletes; new ones are refused with 403. An
// update of its spec ends the watches of its resource, as on a real cluster. Unlike there, a client
// that has received the event of a write to a CustomResourceDefinition or an APIService finds its
// effects in discovery and in all responses.
//
// The server records managedFields under the fieldManager of a request or the beginning of its
// User-Agent. Server-side apply merges by managedFields: built-in types by the schemas in
// client-go, custom resources by theirs. As on a real server, an object that has no managedFields
// gets them by the first apply only. So an object that a test has created without HTTP has none,
// and 100,000 such objects need no memory for them. What the server itself writes, such as the
// status of a CustomResourceDefinition, is not recorded.
//
// A request's body has at most 3 MiB, or the answer is 413. So it is for a JSON patch of more than
// 10,000 operations. One that copies more than 3 MiB in all gets 422. As in kube-apiserver, this
// last limit is one of the process: the first JSON patch sets AccumulatedCopySizeLimit of package
// gopkg.in/evanphx/json-patch.v4, unless the program has set it.
//
// The methods Get, Create, Update, UpdateStatus and Delete act as the requests of the same names,
// without HTTP, without validation and without managedFields, which they keep as they are, for
// simulations with many writes. They set the same defaults. Their argument must have
// apiVersion and kind unless its Go type is in client-go's scheme. Delete removes an object at
// once, where a request may only set its deletionTimestamp, and a CustomResourceDefinition with all
// objects of its resource. All methods are safe for concurrent use.
type APIServer struct {
	memory    *history.Memory
	registry  *registry.Registry
	http      *http.Server
	url       string
	options   APIServerOptions
	ca        []byte          // PEM of the server's certificate; nil without TLS
	transport *http.Transport // of the clients; nil unless the server is in memory
	faults    fault.Queue
	closing   chan struct{} // closed at the start of Close, to end the watches
	close     sync.Once
	serveErr  chan error // receives the result of http.Server.Serve
}

// StartAPIServer starts a server on a free port of 127.0.0.1, or without a port. The caller must
// call Close to release the port and end the server's goroutines. It returns an error if a custom
// resource is invalid or the server cannot listen.
func StartAPIServer(options APIServerOptions) (*APIServer, error) {
	options = options.withDefaults()
	memory := history.NewMemory()
	s := &APIServer{
		memory:   memory,
		registry: registry.New(memory, resource.BuiltIn(), options.HistoryLimit),
		options:  options,
		closing:  make(chan struct{}),
		serveErr: make(chan error, 1),
	}
	memory.SetSharding(options.ShardedListAndWatch)
	for _, custom := range options.CustomResources {
		definition, err := custom.definition()
		if err != nil {
			return nil, err
		}
		if err := s.Create(definition); err != nil {
			return nil, fmt.Errorf("define custom resource %q: %w", definition.GetName(), err)
		}
	}
	s.http = &http.Server{Handler: s.handler(), ReadHeaderTimeout: time.Minute, ErrorLog: klog.NewStandardLogger("WARNING")}
	if err := s.listen(); err != nil {
		return nil, fmt.Errorf("start fake API server: %w", err)
	}
	return s, nil
}

func (s *APIServer) handler() http.Handler {
	return &fakerest.Handler{
		Codecs:         codec.NewSet(),
		Registry:       s.registry,
		Token:          s.options.Token,
		Faults:         s.faults.Take,
		BookmarkPeriod: s.options.BookmarkPeriod,
		NoWatchTimeout: s.options.NoWatchTimeout,
		WriteTimeout:   s.options.WriteTimeout,
		Closing:        s.closing,
	}
}

// listen opens the port, or a listener in memory, and serves it in a new goroutine.
func (s *APIServer) listen() error {
	if s.options.InMemory {
		listener := newPipeListener()
		s.url, s.transport = "http://"+listener.Addr().String(), listener.transport()
		go func() { s.serveErr <- s.http.Serve(listener) }()
		return nil
	}
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
		go func() { s.serveErr <- s.http.Serve(listener) }()
		return nil
	}
	s.url = "https://" + listener.Addr().String()
	s.http.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	go func() { s.serveErr <- s.http.ServeTLS(listener, "", "") }()
	return nil
}

// ServeHTTP implements http.Handler. It answers a request as the server's port does, so that a test
// can serve the API on a listener or a transport of its own. It returns when the answer is written,
// which for a watch is its end.
func (s *APIServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.http.Handler.ServeHTTP(w, r)
}

// URL returns the base URL of the server, as http://127.0.0.1:port, or https with TLS. That of a
// server in memory works only with the Transport of Config.
func (s *APIServer) URL() string {
	return s.url
}

// Config returns a new client configuration for this server, with its token and its certificate.
// The content type is JSON, and client-side rate limiting is off.
func (s *APIServer) Config() *rest.Config {
	config := &rest.Config{
		Host:            s.url,
		QPS:             -1,
		BearerToken:     s.options.Token,
		TLSClientConfig: rest.TLSClientConfig{CAData: s.ca},
	}
	if s.transport != nil {
		config.Transport = s.transport
	}
	return config
}

// Close shuts the server down: it ends all watches, waits until other requests are finished or ctx
// is done, and then closes their connections. If ctx is done first, the returned error wraps ctx's
// error. Further calls do nothing and return nil.
func (s *APIServer) Close(ctx context.Context) error {
	var err error
	s.close.Do(func() {
		close(s.closing)
		if err = s.http.Shutdown(ctx); err != nil {
			err = errors.Join(err, s.http.Close())
		}
		if serveErr := <-s.serveErr; !errors.Is(serveErr, http.ErrServerClosed) {
			err = errors.Join(err, serveErr)
		}
	})
	return err
}

// ResourceVersion returns the resourceVersion of the last write to any resource.
func (s *APIServer) ResourceVersion() string {
	return history.FormatVersion(s.memory.Version())
}

// SetShardedListAndWatch switches the feature gate ShardedListAndWatch (KEP-5866). It is off by
// default, as in kube-apiserver 1.36: the server ignores the shardSelector of a request. While it
// is on, list, watch and deletecollection requests select only objects whose hash is in the ranges
// of the shardSelector. The response to an invalid one is 500. The shardInfo of a list returns the
// selector, except in lists of custom resources and in PartialObjectMetadataList. Watches have
// none.
//
// The gate applies to requests that follow, and an open watch continues as it began. A test can
// therefore alternate between an API server with the gate and one without.
func (s *APIServer) SetShardedListAndWatch(enabled bool) {
	s.memory.SetSharding(enabled)
}

// Compact discards the history of changes, as a compaction of etcd followed by a restart of
// kube-apiserver does. A new watch, a list at an exact resourceVersion and a continue token get 410
// if their version is older. Open watches that have received all changes continue.
func (s *APIServer) Compact() {
	s.memory.Compact()
}

// TruncateWatchCache discards the changes that new watches start from, as a restart of
// kube-apiserver does. A new watch at an older version gets 410. Lists at an exact resourceVersion
// and continue tokens are served as before, until Compact: etcd keeps the older states for minutes.
// Open watches that have received all changes continue.
func (s *APIServer) TruncateWatchCache() {
	s.memory.TruncateWindow()
}

// Bookmark sends a bookmark to all open watches that allow bookmarks.
func (s *APIServer) Bookmark() {
	s.memory.Bookmark()
}
