// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/collection"
	"github.com/kinformer/kinformer/internal/testing/envelope"
)

// bookmarkPeriod is the time between two bookmarks of a watch, as in an API server.
const bookmarkPeriod = time.Minute

// handler serves a collection as an API server does. The collection never changes.
type handler struct {
	*collection.Collection
	envelope      envelope.Envelope
	authorization []byte
	ends          []int64 // the end of each item in a protobuf list, counted from the first item
}

// newHandler returns a handler that accepts requests with the token only.
func newHandler(c *collection.Collection, token string) *handler {
	h := &handler{Collection: c, authorization: []byte("Bearer " + token), ends: make([]int64, len(c.Items)+1)}
	h.envelope = envelope.Of(c.Resource.GroupVersion().String(), c.Kind, !c.Protobuf())
	h.envelope.List.Kind = c.ListKind
	for i, item := range c.Items {
		h.ends[i+1] = h.ends[i] + envelope.ItemSize(item)
	}
	return h
}

// ServeHTTP serves lists and watches of the collection's path.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), h.authorization) == 0:
		http.Error(w, "unauthorized", http.StatusUnauthorized)
	case r.Method != http.MethodGet || r.URL.Path != h.Path():
		http.NotFound(w, r)
	case r.FormValue("watch") == "true" || r.FormValue("watch") == "1":
		h.serveWatch(w, r)
	default:
		h.serveList(w, r)
	}
}

// serveList writes the list, or a page of it. An API server serves a list of resourceVersion=0 from
// its watch cache, whole.
func (h *handler) serveList(w http.ResponseWriter, r *http.Request) {
	start, _ := strconv.Atoi(r.FormValue("continue")) // zero without one
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	if start < 0 || start > len(h.Items) {
		http.Error(w, "invalid continue token", http.StatusBadRequest)
		return
	}
	end := len(h.Items)
	if limit > 0 && r.FormValue("resourceVersion") != "0" {
		end = min(end, start+limit)
	}
	meta := metav1.ListMeta{ResourceVersion: h.ResourceVersion}
	if remaining := int64(len(h.Items) - end); remaining > 0 {
		meta.Continue, meta.RemainingItemCount = strconv.Itoa(end), &remaining
	}
	w.Header().Set("Content-Type", h.envelope.ListContentType())
	_ = h.writeList(w, meta, start, end) // fails if the client has disconnected
}

func (h *handler) writeList(w http.ResponseWriter, meta metav1.ListMeta, start, end int) error {
	list, err := h.envelope.NewListWriter(w, meta, h.ends[end]-h.ends[start])
	if err != nil {
		return err
	}
	for _, item := range h.Items[start:end] {
		if err := list.Write(item); err != nil {
			return err
		}
	}
	return list.Close()
}

// serveWatch writes the objects if the client asks for a WatchList, and a bookmark a minute until
// the request ends.
func (h *handler) serveWatch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", h.envelope.WatchContentType())
	w.WriteHeader(http.StatusOK)
	s := &stream{handler: h, w: w}
	if r.FormValue("sendInitialEvents") == "true" {
		s.writeObjects()
		s.write(h.envelope.Bookmark(h.ResourceVersion, true))
	}
	s.bookmarks(r.Context())
}

// stream writes a watch. Nothing is written after an error.
type stream struct {
	*handler
	w   http.ResponseWriter
	err error
}

func (s *stream) write(frame []byte, err error) {
	if s.err == nil {
		s.err = err
	}
	if s.err == nil {
		_, s.err = s.w.Write(frame)
	}
}

// flush sends what was written and reports whether the client is still connected.
func (s *stream) flush() bool {
	if s.err == nil {
		s.err = http.NewResponseController(s.w).Flush()
	}
	return s.err == nil
}

// writeObjects writes an event for each object.
func (s *stream) writeObjects() {
	for _, item := range s.Items {
		if s.err != nil {
			return
		}
		s.write(s.envelope.Frame(watch.Added, s.withKind(item)), nil)
	}
}

func (s *stream) bookmarks(ctx context.Context) {
	ticker := time.NewTicker(bookmarkPeriod)
	defer ticker.Stop()
	for s.flush() {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.write(s.envelope.Bookmark(s.ResourceVersion, false))
		}
	}
}

// withKind returns an object as it is in a watch. In JSON the items of a list have no apiVersion
// and kind unless they are custom resources.
func (h *handler) withKind(item []byte) []byte {
	if h.Protobuf() {
		return item
	}
	var has metav1.TypeMeta
	if err := json.Unmarshal(item, &has); err != nil || has.Kind != "" || len(item) == 0 {
		return item
	}
	return append(fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,`, h.envelope.Object.Kind, h.envelope.Object.APIVersion), item[1:]...)
}
