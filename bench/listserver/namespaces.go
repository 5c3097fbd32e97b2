// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package listserver

import (
	"net/http"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/internal/testing/loopback"
)

// maxPerWorkload is the largest number of Pods of a namespace that have the same owner.
const maxPerWorkload = 20

// StartNamespaces serves the Pods of namespaces, in protobuf, by the path of the namespace.
func StartNamespaces(namespaces []string, podsPerNamespace int) (*loopback.Server, error) {
	handler, err := ofNamespaces(namespaces, podsPerNamespace)
	if err != nil {
		return nil, err
	}
	return loopback.Start(handler)
}

// StartWithoutPages is StartNamespaces for a server that ignores limit if ignoresLimit is set. It
// counts the traffic.
func StartWithoutPages(namespaces []string, podsPerNamespace int, ignoresLimit bool, traffic *Traffic) (*loopback.Server, error) {
	handler, err := ofNamespaces(namespaces, podsPerNamespace)
	if err != nil {
		return nil, err
	}
	return loopback.Start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if ignoresLimit {
			query.Del("limit")
			r.URL.RawQuery = query.Encode()
		}
		traffic.Requests.Add(1)
		if query.Has("watch") {
			traffic.Watches.Add(1)
		}
		handler(countingWriter{w, &traffic.Bytes}, r)
	}))
}

// Traffic counts what a server has received and sent.
type Traffic struct {
	Requests atomic.Int64
	Watches  atomic.Int64 // among the requests
	Bytes    atomic.Int64 // of the bodies of responses
}

// countingWriter counts the bytes of a response.
type countingWriter struct {
	http.ResponseWriter

	bytes *atomic.Int64
}

// Write implements io.Writer.
func (w countingWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.bytes.Add(int64(n))
	return n, err
}

// Unwrap returns the writer for http.ResponseController.
func (w countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func ofNamespaces(namespaces []string, podsPerNamespace int) (http.HandlerFunc, error) {
	lists := make(map[string]*dataset.Encoded, len(namespaces))
	pods := dataset.NewPods(dataset.PodsPerWorkload(min(max(podsPerNamespace, 1), maxPerWorkload)), 1)
	for n, namespace := range namespaces {
		list, err := encodeNamespace(pods, namespace, n*podsPerNamespace, podsPerNamespace)
		if err != nil {
			return nil, err
		}
		lists["/api/v1/namespaces/"+namespace+"/pods"] = list
	}
	return serveLists(lists, len(namespaces)*podsPerNamespace), nil
}

// encodeNamespace returns n Pods of a set, from the first one on, in a namespace.
func encodeNamespace(pods *dataset.Pods, namespace string, first, n int) (*dataset.Encoded, error) {
	list := make([]*corev1.Pod, 0, n)
	for i := range n {
		pod := pods.Pod(first + i)
		pod.Namespace = namespace
		list = append(list, pod)
	}
	return dataset.Encode("v1", "Pod", list)
}

// serveLists serves lists by path at one version, and watches without events.
func serveLists(lists map[string]*dataset.Encoded, version int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		list, ok := lists[strings.TrimSuffix(r.URL.Path, "/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if watch := r.FormValue("watch"); watch == "true" || watch == "1" {
			w.Header().Set("Content-Type", list.WatchContentType())
			stayOpen(w, r)
			return
		}
		w.Header().Set("Content-Type", list.ListContentType())
		body := list.List(version, dataset.PageOf(r, list.Len()))
		_, _ = body.WriteTo(w) // fails if the client has disconnected
	}
}
