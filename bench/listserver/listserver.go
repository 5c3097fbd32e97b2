// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package listserver serves a list of any length over plain HTTP as an API server does. It unpacks
// each object when it sends it. The list never changes, and watches receive no events. A request
// that does not accept the encoding of the objects, protobuf or JSON, fails.
package listserver

import (
	"net/http"
	"strings"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/internal/testing/loopback"
)

// Start serves the first n objects. Every request that is not a watch receives their list, whatever
// its path.
func Start(objects *dataset.Packed, n int) (*loopback.Server, error) {
	return StartBeside(objects, n, nil)
}

// StartBeside is Start for a server that has further collections, by path.
func StartBeside(objects *dataset.Packed, n int, others map[string]*dataset.Packed) (*loopback.Server, error) {
	mux := http.NewServeMux()
	mux.Handle("/", handler(objects, n))
	for path, other := range others {
		mux.Handle(path, handler(other, other.Len()))
	}
	return loopback.Start(mux)
}

func handler(objects *dataset.Packed, n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept"), objects.ListContentType()) {
			http.Error(w, "not acceptable", http.StatusNotAcceptable)
			return
		}
		if watch := r.FormValue("watch"); watch != "true" && watch != "1" {
			w.Header().Set("Content-Type", objects.ListContentType())
			_ = objects.WriteList(w, n, dataset.PageOf(r, n)) // fails if the client has disconnected
			return
		}
		w.Header().Set("Content-Type", objects.WatchContentType())
		stayOpen(w, r)
	}
}

// stayOpen sends the header of a watch, and no events until the client disconnects.
func stayOpen(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	if http.NewResponseController(w).Flush() == nil {
		<-r.Context().Done()
	}
}
