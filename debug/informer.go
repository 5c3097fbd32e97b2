// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"maps"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/kinformer/kinformer/cache"
)

const (
	// maxKeys is the number of keys that a page shows.
	maxKeys = 200
	// fewObjects is the number of objects whose keys are shown without a search.
	fewObjects = 1000
	// maxText is the size of the parameters find and key, in bytes.
	maxText = 1024
	// maxCause is the number of characters of an error that are shown.
	maxCause = 2000
)

// detail is the JSON of one informer.
type detail struct {
	informer

	Scopes          []scopeStatus    `json:"scopes,omitempty"`
	ScopeCount      int              `json:"scopeCount,omitempty"`
	Indexes         []index          `json:"indexes"`
	QuarantinedKeys []quarantinedKey `json:"quarantinedKeys"`
	Keys            *keyList         `json:"keys,omitempty"`

	ShowObjects bool `json:"-"` // keys are links to the content of objects
}

type index struct {
	Name   string `json:"name"`
	Values int    `json:"values"`
	Errors uint64 `json:"errors"`
}

type quarantinedKey struct {
	Key   string `json:"key"`
	Error string `json:"error"`
}

// keyList is the result of a search.
type keyList struct {
	Find  string   `json:"find"`
	Found int      `json:"found"`
	Keys  []string `json:"keys"`
}

// informer serves the page of one informer. Its keys are searched if the request has the parameter
// find, which may be empty, or if they are few.
func (h *handler) informer(w http.ResponseWriter, r *http.Request) *failure {
	view, failed := h.view(r)
	if failed != nil {
		return failed
	}
	page := h.readDetail(view)
	query := r.URL.Query()
	if query.Has("find") || page.Objects <= fewObjects {
		if page.Keys, failed = h.findKeys(r, view, query.Get("find")); failed != nil {
			return failed
		}
	}
	if wantsJSON(r) {
		return h.writeJSON(w, r, page)
	}
	return h.writePage(w, r, http.StatusOK, "informer.html", page)
}

func (h *handler) readDetail(view cache.View) detail {
	now, status := h.clock.Now(), view.Status()
	page := detail{
		informer: newInformer(view, status, now),
		Indexes:  []index{}, QuarantinedKeys: []quarantinedKey{},
		ShowObjects: h.options.ShowObjects && !isSecretKind(view.Kind()),
	}
	page.Scopes, page.ScopeCount = scopes(view)
	values := view.Indexes()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		page.Indexes = append(page.Indexes, index{Name: name, Values: values[name], Errors: status.Store.IndexErrors[name]})
	}
	for _, failed := range status.Store.QuarantinedKeys {
		page.QuarantinedKeys = append(page.QuarantinedKeys, quarantinedKey{failed.Key, shorten(failed.Err.Error(), maxCause)})
	}
	return page
}

// findKeys searches the keys of an informer, at most maxScans at a time.
func (h *handler) findKeys(r *http.Request, view cache.View, text string) (*keyList, *failure) {
	if len(text) > maxText || !utf8.ValidString(text) {
		return nil, &failure{http.StatusBadRequest, "The search text is too long or not valid text."}
	}
	if failed := h.acquire(r); failed != nil {
		return nil, failed
	}
	defer func() { <-h.scans }()
	keys, found := view.FindKeys(text, maxKeys)
	if keys == nil {
		keys = []string{}
	}
	return &keyList{Find: text, Found: found, Keys: keys}, nil
}
