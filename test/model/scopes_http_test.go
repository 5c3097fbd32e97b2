// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// scopedNetwork is the HTTP server of a scopedServer.
type scopedNetwork struct {
	*pipes
	model  *scopedServer
	format cachetest.Format
}

func newScopedNetwork(s *scopedServer, wire string) *scopedNetwork {
	n := &scopedNetwork{model: s, format: cachetest.Formats[wire]}
	n.pipes = newPipes(n, false)
	return n
}

// ServeHTTP answers a request for the ConfigMaps of all namespaces, or of the one in the path.
func (n *scopedNetwork) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	options, format := optionsOf(r), formatOf(r, n.format)
	if _, path, found := strings.Cut(r.URL.Path, "/namespaces/"); found {
		namespace, _, _ := strings.Cut(path, "/")
		inIt := fields.OneTermEqualSelector("metadata.namespace", namespace)
		options.FieldSelector = fields.AndSelectors(inIt, fields.ParseSelectorOrDie(options.FieldSelector)).String()
	}
	if !options.Watch {
		list, err := n.model.List(r.Context(), options)
		if err != nil {
			cachetest.ServeError(w, err)
			return
		}
		w.Header().Set("Content-Type", format.ListType)
		_, _ = w.Write(encodeConfigMaps(format, list))
		return
	}
	stream, err := n.model.Watch(r.Context(), options)
	if err != nil {
		cachetest.ServeError(w, err)
		return
	}
	defer stream.Stop()
	w.Header().Set("Content-Type", format.WatchType)
	flush := http.NewResponseController(w).Flush
	_ = flush()
	cachetest.ServeEvents(r.Context(), stream, func(event watch.Event) error {
		_, _ = w.Write(format.Frame(event.Type, encodeConfigMaps(format, event.Object)))
		return flush()
	})
}

// encodeConfigMaps returns the bytes of a ConfigMap or a list. Those of a state that cannot be
// decoded are corrupt.
func encodeConfigMaps(format cachetest.Format, obj runtime.Object) []byte {
	return corrupt(format.Encode(cachetest.WithType(obj)), "bad", "\x12", badBytes)
}
