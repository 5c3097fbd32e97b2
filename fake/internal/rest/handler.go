package rest

import (
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/fake/internal/codec"
	"github.com/kinformer/kinformer/fake/internal/registry"
)

// Handler serves a registry over HTTP. Its fields are set before the first request and not changed after.
type Handler struct {
	Codecs   *codec.Set
	Registry *registry.Registry
	// BookmarkPeriod is the time between two bookmarks of a watch.
	BookmarkPeriod time.Duration
	// WriteTimeout is how long a watch may take to write what it has before it is given up.
	WriteTimeout time.Duration
	// Closing, once closed, ends all watches.
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
	t, ok := parsePath(r.URL.Path)
	store := h.Registry.ForResource(t.GroupVersionResource)
	if !ok || store == nil || (t.namespace != "" && !store.Namespaced) {
		http.NotFound(w, r) // as the real server, in plain text
		return
	}
	c := &call{Handler: h, w: w, r: r, target: t, store: store, format: h.Codecs.ForAccept(r.Header.Get("Accept"))}
	if c.format == nil {
		c.format = h.Codecs.JSON()
		c.fail(notAcceptable(h.Codecs.Supported()))
		return
	}
	if err := c.dispatch(); err != nil {
		c.fail(err)
	}
}

// call is one request on its way.
type call struct {
	*Handler
	w      http.ResponseWriter
	r      *http.Request
	target target
	store  *registry.Store
	format *codec.Format // of the answer
}

// dispatch does what the path and the method ask for. An error it returns is not answered yet.
func (c *call) dispatch() error {
	onCollection, method := c.target.name == "", c.r.Method
	switch {
	case c.target.subresource == "status" && c.store.HasStatus && method == http.MethodPut:
		return c.update(c.store.UpdateStatus)
	case c.target.subresource == "status" && c.store.HasStatus && method == http.MethodGet:
		return c.get()
	case c.target.subresource != "":
		return unknownSubresource()
	case onCollection && method == http.MethodGet:
		return c.listOrWatch()
	case onCollection && method == http.MethodPost:
		return c.create()
	case !onCollection && method == http.MethodGet:
		return c.get()
	case !onCollection && method == http.MethodPut:
		return c.update(c.store.Update)
	case !onCollection && method == http.MethodDelete:
		return c.delete()
	}
	return apierrors.NewMethodNotSupported(c.target.GroupResource(), method)
}

// answer writes an object. An error it returns was met before anything was written.
func (c *call) answer(code int, obj runtime.Object) error {
	w := c.compressor(c.w, c.r)
	w.Header().Set("Content-Type", c.format.ContentType)
	w.Header().Set("Cache-Control", "no-cache, private")
	w.code = code
	if err := c.format.Encode(w, obj); err != nil {
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

// listOptions reads the request's query.
func (c *call) listOptions() (metav1.ListOptions, error) {
	var opts metav1.ListOptions
	query := c.r.URL.Query()
	if err := metav1.Convert_url_Values_To_v1_ListOptions(&query, &opts, nil); err != nil {
		return opts, apierrors.NewBadRequest(err.Error())
	}
	return opts, nil
}
