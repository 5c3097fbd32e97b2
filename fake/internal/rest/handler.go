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
	"github.com/kinformer/kinformer/fake/internal/registry"
)

// Handler serves a registry over HTTP. Its fields are set before the first request and not changed after.
type Handler struct {
	Codecs   *codec.Set
	Registry *registry.Registry
	// Token, if not empty, is the bearer token that requests must bring.
	Token string
	// Faults returns what goes wrong with a request. It may be nil.
	Faults func(Request) Fault
	// BookmarkPeriod is the time between two bookmarks of a watch.
	BookmarkPeriod time.Duration
	// WriteTimeout is how long a watch may take to write what it has before it is given up.
	WriteTimeout time.Duration
	// Closing, once closed, ends all watches and whatever waits.
	Closing <-chan struct{}

	zippers sync.Pool // of *gzip.Writer
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/healthz", "/livez", "/readyz":
		_, _ = w.Write([]byte("ok")) // a client that is gone needs no answer
		return
	}
	c := &call{Handler: h, w: w, r: r, Accepted: codec.Accepted{Format: h.Codecs.JSON()}}
	if !h.authorized(r) {
		c.fail(apierrors.NewUnauthorized("Unauthorized"))
		return
	}
	t, ok := parsePath(r.URL.Path)
	if ok {
		c.target, c.store = t, h.Registry.ForResource(t.GroupVersionResource)
	}
	if h.Faults != nil {
		if c.fault = h.Faults(c.request()); !c.misfortune() {
			return
		}
	}
	switch {
	case c.store != nil && (t.namespace == "" || c.store.Namespaced):
		c.serveResource()
	case c.discover():
	case c.legacyBinding():
	case c.inBuiltInGroup():
		c.fail(nothingHere())
	default:
		http.NotFound(w, r) // as the real server, in plain text
	}
}

// inBuiltInGroup tells whether a path leads into a group that has been there from the start.
func (c *call) inBuiltInGroup() bool {
	segments := strings.SplitN(strings.TrimPrefix(c.r.URL.Path, "/"), "/", 3)
	return len(segments) > 1 && (segments[0] == "api" && segments[1] == "v1" || segments[0] == "apis" && c.Registry.BuiltIn(segments[1]))
}

// call is one request on its way.
type call struct {
	*Handler
	codec.Accepted // what the answer is turned into
	w              http.ResponseWriter
	r              *http.Request
	target         target
	store          *registry.Store
	fault          Fault
}

// serveResource answers a request for a resource.
func (c *call) serveResource() {
	accepted, ok := c.Codecs.ForAccept(c.r.Header.Get("Accept"), c.store.Custom)
	if !ok {
		c.refuseForm()
		return
	}
	c.Accepted = accepted
	if err := c.dispatch(); err != nil {
		c.fail(err)
	}
}

// refuseForm answers that nothing of what the client accepts is there, in a format that it accepts, if there is one.
func (c *call) refuseForm() {
	if readable, ok := c.Codecs.ForAccept(c.r.Header.Get("Accept"), false); ok && readable.As == "" {
		c.Accepted = readable
	}
	c.fail(notAcceptable(c.Codecs.Supported()))
}

// dispatch does what the path and the method ask for. An error it returns is not answered yet.
func (c *call) dispatch() error {
	verb := c.verb()
	everywhere := c.store.Namespaced && c.target.namespace == ""
	switch {
	case everywhere && c.target.name != "":
		return nothingHere()
	case everywhere && (verb == "create" || verb == "deletecollection"):
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
		return c.update(c.store.Update)
	case "patch":
		return c.patch(c.store.Update)
	case "delete":
		return c.delete()
	case "deletecollection":
		return c.deleteCollection()
	}
	return methodNotAllowed()
}

// dispatchSubresource does the same for subresources, of which there are few.
func (c *call) dispatchSubresource() error {
	name := c.target.subresource
	isNamespace, isPod := c.isCore("namespaces"), c.isCore("pods")
	switch verb := c.verb(); {
	case name == "status" && c.store.HasStatus && verb == "get":
		return c.get()
	case name == "status" && c.store.HasStatus && verb == "update":
		return c.update(c.store.UpdateStatus)
	case name == "status" && c.store.HasStatus && verb == "patch":
		return c.patch(c.store.UpdateStatus)
	case name == "finalize" && isNamespace && verb == "update":
		return c.update(c.store.Finalize)
	case name == "binding" && isPod && verb == "create":
		return c.bind(c.target.name)
	case name == "status" && c.store.HasStatus, name == "finalize" && isNamespace, name == "binding" && isPod:
		return methodNotAllowed()
	}
	if c.store.Custom {
		return apierrors.NewNotFound(c.target.GroupResource(), c.target.name)
	}
	return nothingHere()
}

func (c *call) isCore(resource string) bool {
	return c.target.Group == "" && c.target.Resource == resource
}

// verb names what a request does, as authorisation does.
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

// answer writes an object as it is. An error it returns was met before anything was written.
func (c *call) answer(code int, obj runtime.Object) error {
	w := c.compressor(c.w, c.r)
	w.Header().Set("Content-Type", c.ContentType)
	w.Header().Set("Cache-Control", "no-cache, private")
	w.code = code
	if err := c.Encode(w, obj); err != nil {
		return w.abort(err)
	}
	if err := w.Close(); err != nil {
		logFailure(c.r, err)
	}
	return nil
}

// fail writes an error as a metav1.Status.
func (c *call) fail(err error) {
	status := statusOf(err)
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		setRetryAfter(c.w.Header(), d.RetryAfterSeconds)
	}
	if err := c.answer(int(status.Code), status); err != nil {
		logFailure(c.r, err)
	}
}
