// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"cmp"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/cache"
)

// Options configure a Handler. The zero value is safe for production.
type Options struct {
	// ShowObjects serves the content of objects as JSON, except of those that are or may be
	// Secrets: see the package documentation.
	ShowObjects bool
	// Hosts are further names, without a port, that a request to a loopback address may have as its
	// Host, such as that of a proxy which passes the client's Host on: see the package
	// documentation.
	Hosts []string
}

// Handler returns a handler that serves the debug page of informers, factories and groups. Mount it
// below a path that ends in a slash. It reads the informers at each request, so that a factory may
// make more of them later.
func Handler(options Options, informers ...cache.Viewable) http.Handler {
	options.Hosts = slices.Clone(options.Hosts)
	return &handler{
		options:   options,
		informers: slices.Clone(informers),
		pages:     template.Must(template.New("").Funcs(functions()).ParseFS(assets, "assets/*.html")),
		scans:     make(chan struct{}, maxScans),
		clock:     clock.RealClock{},
	}
}

//go:embed assets
var assets embed.FS

type handler struct {
	options   Options
	informers []cache.Viewable
	pages     *template.Template
	scans     chan struct{}
	clock     clock.PassiveClock
}

const (
	typeHTML = "text/html; charset=utf-8"
	typeJSON = "application/json"
)

// contentSecurityPolicy allows the page's own style, script and requests, and nothing else.
const contentSecurityPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP serves the page that the last part of the path names, so that the handler works below
// any prefix.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	setSecurityHeaders(header)
	if refused := h.refuseHost(r); refused != nil {
		h.fail(w, r, *refused)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		h.fail(w, r, failure{http.StatusMethodNotAllowed, "This page is read-only."})
		return
	}
	if err := h.route(w, r); err != nil {
		h.fail(w, r, *err)
	}
}

func setSecurityHeaders(header http.Header) {
	header.Set("Content-Security-Policy", contentSecurityPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Vary", "Accept, Accept-Encoding")
}

// route serves one page, or returns why it cannot.
func (h *handler) route(w http.ResponseWriter, r *http.Request) *failure {
	switch page := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]; page {
	case "":
		return h.overview(w, r)
	case "informers.json":
		return h.writeJSON(w, r, h.readAll())
	case "informer", "informer.json":
		return h.informer(w, r)
	case "object", "object.json":
		return h.object(w, r)
	case "style.css":
		return h.asset(w, r, page, "text/css; charset=utf-8")
	case "refresh.js":
		return h.asset(w, r, page, "text/javascript; charset=utf-8")
	case "icon.svg":
		return h.asset(w, r, page, "image/svg+xml")
	default:
		return &failure{http.StatusNotFound, "There is no such page."}
	}
}

func (h *handler) overview(w http.ResponseWriter, r *http.Request) *failure {
	if to := missingSlash(r); to != "" {
		w.Header().Set("Location", to)
		return &failure{http.StatusPermanentRedirect, "The page is at " + to}
	}
	all := h.readAll()
	if wantsJSON(r) {
		return h.writeJSON(w, r, all)
	}
	all.Filter = r.FormValue("filter")
	return h.writePage(w, r, http.StatusOK, "overview.html", all)
}

// missingSlash returns where the overview is, relative to a request that http.StripPrefix has left
// without a path. Relative links would not work there.
func missingSlash(r *http.Request) string {
	asked, err := url.ParseRequestURI(r.RequestURI)
	if r.URL.Path != "" || err != nil || strings.HasSuffix(asked.Path, "/") {
		return ""
	}
	return "./" + url.PathEscape(path.Base(asked.Path)) + "/"
}

// wantsJSON reports whether the client asks for JSON: by the page's name, or by what it accepts.
func wantsJSON(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.HasSuffix(r.URL.Path, ".json") || strings.Contains(accept, typeJSON) && !strings.Contains(accept, "text/html")
}

// views returns a view of each informer once, the oldest first.
func (h *handler) views() (views []cache.View) {
	for _, informer := range h.informers {
		views = append(views, informer.Views()...)
	}
	slices.SortStableFunc(views, func(a, b cache.View) int { return cmp.Compare(a.ID(), b.ID()) })
	return slices.CompactFunc(views, func(a, b cache.View) bool { return a.ID() == b.ID() })
}

// view returns the informer that a request names.
func (h *handler) view(r *http.Request) (cache.View, *failure) {
	id, err := strconv.ParseUint(r.FormValue("id"), 10, 64)
	if err != nil {
		return cache.View{}, &failure{http.StatusBadRequest, "The parameter id must be the number of an informer."}
	}
	for _, view := range h.views() {
		if view.ID() == id {
			return view, nil
		}
	}
	return cache.View{}, &failure{http.StatusNotFound, "There is no such informer. It may have stopped."}
}
