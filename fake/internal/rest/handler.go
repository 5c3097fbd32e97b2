// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/fake/internal/codec"
	"github.com/kinformer/kinformer/fake/internal/fault"
	"github.com/kinformer/kinformer/fake/internal/registry"
)

// Handler serves a registry over HTTP. Its fields must not be modified after the first request.
type Handler struct {
	Codecs   *codec.Set
	Registry *registry.Registry
	// Token, if not empty, is the bearer token that requests must have.
	Token string
	// Faults returns the fault to inject into a request. It may be nil.
	Faults func(fault.Request) fault.Fault
	// BookmarkPeriod is the time between two bookmarks of a watch.
	BookmarkPeriod time.Duration
	// NoWatchTimeout makes watches ignore timeoutSeconds.
	NoWatchTimeout bool
	// WriteTimeout is the maximum time for writing a batch of events to a watch. After it the watch
	// is closed.
	WriteTimeout time.Duration
	// Closing, once closed, ends all watches and all waiting requests.
	Closing <-chan struct{}

	zippers sync.Pool // of *gzip.Writer
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/healthz", "/livez", "/readyz":
		_, _ = w.Write([]byte("ok")) // fails only if the client has disconnected
		return
	}
	c := &call{Handler: h, w: w, r: r, Accepted: codec.Accepted{Format: h.Codecs.JSON()}}
	if !h.authorized(r) {
		c.fail(apierrors.NewUnauthorized("Unauthorized"))
		return
	}
	h.Registry.Settle()
	t, ok := parsePath(r.URL.Path)
	if ok {
		c.target, c.store = t, h.Registry.ForResource(t.GroupVersionResource)
	}
	if h.Faults != nil {
		if c.fault = h.Faults(c.request()); !c.applyFault() {
			return
		}
	}
	gv, ok := groupVersionOf(r.URL.Path)
	switch {
	case ok && h.Registry.Unavailable(gv):
		http.Error(w, "service unavailable", http.StatusServiceUnavailable)
	case c.store != nil && (t.namespace == "" || c.store.Namespaced):
		c.serveResource()
	case c.discover():
	case c.legacyBinding():
	case c.inBuiltInGroup():
		c.fail(notFound())
	default:
		http.NotFound(w, r) // plain text, as from the real server
	}
}

// inBuiltInGroup reports whether the path is in an API group with built-in resources.
func (c *call) inBuiltInGroup() bool {
	segments := strings.SplitN(strings.TrimPrefix(c.r.URL.Path, "/"), "/", 3)
	return len(segments) > 1 && (segments[0] == "api" && segments[1] == "v1" || segments[0] == "apis" && c.Registry.BuiltIn(segments[1]))
}

// call is one request and its answer.
type call struct {
	*Handler
	codec.Accepted // the encoding of the answer
	w              http.ResponseWriter
	r              *http.Request
	target         target
	store          *registry.Store
	fault          fault.Fault
}

// serveResource serves a request for a resource.
func (c *call) serveResource() {
	endpoint := codec.Objects
	if c.store.Custom {
		endpoint = codec.CustomObjects
	}
	accepted, ok := c.Codecs.ForAccept(c.r.Header.Get("Accept"), endpoint)
	if !ok {
		c.failNotAcceptable()
		return
	}
	c.Accepted = accepted
	if err := c.dispatch(); err != nil {
		c.fail(err)
	}
}

// failNotAcceptable answers 406, in a format that the client accepts if there is one.
func (c *call) failNotAcceptable() {
	if readable, ok := c.Codecs.ForAccept(c.r.Header.Get("Accept"), codec.Objects); ok && readable.As == "" {
		c.Accepted = readable
	}
	c.fail(noAcceptableType(c.Codecs.Supported()))
}

// dispatch calls the method for the request's verb. The caller must answer the returned error.
func (c *call) dispatch() error {
	verb := c.verb()
	allNamespaces := c.store.Namespaced && c.target.namespace == ""
	switch {
	case allNamespaces && c.target.name != "":
		return notFound()
	case allNamespaces && (verb == "create" || verb == "deletecollection"):
		return methodNotAllowed()
	case c.target.subresource != "":
		return c.dispatchSubresource()
	case !slices.Contains(c.store.Verbs(), verb):
		return methodNotAllowed()
	}
	switch verb {
	case "list":
		return c.list()
	case "watch":
		return c.watch()
	case "get":
		return c.get()
	case "create":
		return c.create()
	case "update":
		return c.update((*registry.Store).Update)
	case "patch":
		return c.patch((*registry.Store).Update)
	case "delete":
		return c.delete()
	case "deletecollection":
		return c.deleteCollection()
	}
	return methodNotAllowed()
}

// dispatchSubresource is like dispatch, for subresources.
func (c *call) dispatchSubresource() error {
	name := c.target.subresource
	isNamespace, isPod := c.isCore("namespaces"), c.isCore("pods")
	switch verb := c.verb(); {
	case name == "status" && c.store.HasStatus && verb == "get":
		return c.get()
	case name == "status" && c.store.HasStatus && verb == "update":
		return c.update((*registry.Store).UpdateStatus)
	case name == "status" && c.store.HasStatus && verb == "patch":
		return c.patch((*registry.Store).UpdateStatus)
	case name == "finalize" && isNamespace && verb == "update":
		return c.update((*registry.Store).Finalize)
	case name == "binding" && isPod && verb == "create":
		return c.bind(c.target.name)
	case name == "status" && c.store.HasStatus, name == "finalize" && isNamespace, name == "binding" && isPod:
		return methodNotAllowed()
	}
	if c.store.Custom {
		return apierrors.NewNotFound(c.target.GroupResource(), c.target.name)
	}
	return notFound()
}

func (c *call) isCore(resource string) bool {
	return c.target.Group == "" && c.target.Resource == resource
}

// verb returns the request's verb, as used in authorization, or "" for an unsupported method.
func (c *call) verb() string {
	switch c.r.Method {
	case http.MethodGet:
		if c.target.name != "" {
			return "get"
		}
		if watch := c.r.URL.Query().Get("watch"); watch == "true" || watch == "1" {
			return "watch"
		}
		return "list"
	case http.MethodPost:
		if c.target.name == "" || c.target.subresource != "" {
			return "create"
		}
	case http.MethodPut:
		if c.target.name != "" {
			return "update"
		}
	case http.MethodPatch:
		if c.target.name != "" {
			return "patch"
		}
	case http.MethodDelete:
		if c.target.name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	return ""
}

// write answers with an object. If it returns an error, nothing has been sent.
func (c *call) write(code int, obj runtime.Object) error {
	c.w.Header().Set("Cache-Control", "no-cache, private")
	return c.writeAs(code, c.ContentType, obj)
}

// writeAs is like write, with another content type than that of the format.
func (c *call) writeAs(code int, contentType string, obj runtime.Object) error {
	w := c.compressor(c.w, c.r)
	w.Header().Set("Content-Type", contentType)
	w.code = code
	if err := c.Encode(w, obj); err != nil {
		return w.abort(err)
	}
	if err := w.Close(); err != nil {
		logFailure(c.r, err)
	}
	return nil
}

// fail answers with an error, as a metav1.Status.
func (c *call) fail(err error) {
	status := statusOf(err)
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		setRetryAfter(c.w.Header(), d.RetryAfterSeconds)
	}
	if err := c.write(int(status.Code), status); err != nil {
		logFailure(c.r, err)
	}
}
