// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// failure is an answer other than the requested page.
type failure struct {
	Code int    `json:"code"`
	Text string `json:"error"`
}

// Title returns the name of the status.
func (f failure) Title() string { return http.StatusText(f.Code) }

func (h *handler) fail(w http.ResponseWriter, r *http.Request, f failure) {
	if f.Code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if wantsJSON(r) {
		w.Header().Set("Content-Type", typeJSON)
		w.WriteHeader(f.Code)
		_ = json.NewEncoder(w).Encode(f) // the client has gone
		return
	}
	_ = h.writePage(w, r, f.Code, "failure.html", f) // the page has no other data
}

func (h *handler) asset(w http.ResponseWriter, r *http.Request, name, contentType string) *failure {
	content, err := assets.ReadFile("assets/" + name)
	if err != nil {
		return &failure{http.StatusNotFound, "There is no such page."}
	}
	return write(w, r, http.StatusOK, contentType, content)
}

// writePage executes a template before it writes anything, so that an error is not half a page.
func (h *handler) writePage(w http.ResponseWriter, r *http.Request, code int, name string, data any) *failure {
	var page bytes.Buffer
	if err := h.pages.ExecuteTemplate(&page, name, data); err != nil {
		return &failure{http.StatusInternalServerError, "The page cannot be rendered."}
	}
	return write(w, r, code, typeHTML, page.Bytes())
}

func (h *handler) writeJSON(w http.ResponseWriter, r *http.Request, value any) *failure {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return &failure{http.StatusInternalServerError, "The answer cannot be encoded."}
	}
	return write(w, r, http.StatusOK, typeJSON, append(text, '\n'))
}

// write writes an answer, compressed if the client accepts it.
func write(w http.ResponseWriter, r *http.Request, code int, contentType string, content []byte) *failure {
	w.Header().Set("Content-Type", contentType)
	if acceptsGzip(r) {
		var compressed bytes.Buffer
		packer, _ := gzip.NewWriterLevel(&compressed, gzip.BestSpeed) // the level is valid
		_, _ = packer.Write(content)                                  // a buffer does not fail
		_ = packer.Close()
		w.Header().Set("Content-Encoding", "gzip")
		content = compressed.Bytes()
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	w.WriteHeader(code)
	_, _ = w.Write(content) // the client has gone
	return nil
}

// acceptsGzip reports whether the client accepts gzip, and has not given it the quality 0.
func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.ReplaceAll(coding, " ", ""), ";q=")
		if name == "gzip" {
			return quality == "" || strings.Trim(quality, "0.") != ""
		}
	}
	return false
}

const (
	// maxScans is the number of requests that may read all keys of an informer at a time.
	maxScans = 2
	// scanWait is how long another one waits.
	scanWait = 2 * time.Second
)

// acquire waits for the turn of an expensive request. The caller must receive from h.scans unless
// it fails.
func (h *handler) acquire(r *http.Request) *failure {
	ctx, cancel := context.WithTimeout(r.Context(), scanWait)
	defer cancel()
	select {
	case h.scans <- struct{}{}:
		return nil
	case <-ctx.Done():
		return &failure{http.StatusServiceUnavailable, "Other searches are in progress. Try again later."}
	}
}
