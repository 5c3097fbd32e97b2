// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"bytes"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

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
		_, _ = w.Write(corruptConfigMaps(format, list))
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
	for err = flush(); err == nil; err = flush() {
		select {
		case event, ok := <-stream.ResultChan():
			if !ok {
				return
			}
			_, _ = w.Write(format.Frame(event.Type, corruptConfigMaps(format, event.Object)))
		case <-r.Context().Done():
			return
		}
	}
}

// corruptConfigMaps returns the bytes of a ConfigMap or a list. Those of a state that cannot be
// decoded have an array in JSON, and in protobuf a string that is longer than its message.
func corruptConfigMaps(format cachetest.Format, obj runtime.Object) []byte {
	content := format.Encode(cachetest.WithType(obj))
	content = bytes.ReplaceAll(content, []byte(`"bad":"`+badBytes+`"`), []byte(`"bad":["`+badBytes+`"]`))
	length := string(rune(len(badBytes)))
	return bytes.ReplaceAll(content, []byte("\x12"+length+badBytes), []byte("\x12\x7f"+badBytes))
}
