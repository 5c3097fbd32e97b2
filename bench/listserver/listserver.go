// Package listserver serves one list of objects over plain HTTP as an API server
// does, as long as it may be: objects are made while they are sent. Nothing changes
// in it, and its watches say nothing.
package listserver

import (
	"net/http"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/loopback"
)

// Start serves the first n objects under every path: who asks for anything else than
// their list gets that list.
func Start(objects *dataset.Stored, n int) (*loopback.Server, error) {
	return loopback.Start(handler(objects, n))
}

func handler(objects *dataset.Stored, n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if watch := r.FormValue("watch"); watch != "true" && watch != "1" {
			w.Header().Set("Content-Type", objects.ContentType())
			_ = objects.WriteList(w, n) // a client that has gone is no error here
			return
		}
		w.Header().Set("Content-Type", objects.ContentType()+";stream=watch")
		w.WriteHeader(http.StatusOK)
		if http.NewResponseController(w).Flush() == nil {
			<-r.Context().Done()
		}
	}
}
