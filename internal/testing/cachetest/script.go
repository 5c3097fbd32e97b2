// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Script is a server of prepared responses: the nth of Lists to the nth list request, and the last
// one to those after it; the same for Watches.
type Script struct {
	*httptest.Server
	Lists, Watches []http.HandlerFunc
	Requests       chan string   // receives "verb@resourceVersion" of each request
	closing        chan struct{} // closed before the server; ends responses that are held open

	mu             sync.Mutex // guards the fields below, and Lists after the start
	listed, opened int
}

// NewScript starts a server that is closed when the test ends.
func NewScript(t *testing.T, lists, watches []http.HandlerFunc) *Script {
	t.Helper()
	s := NewUnstartedScript()
	s.Lists, s.Watches = lists, watches
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.closing)
		s.Close()
	})
	return s
}

// NewUnstartedScript returns a server without prepared responses that is not running.
func NewUnstartedScript() *Script {
	return &Script{closing: make(chan struct{}), Requests: make(chan string, 10_000)}
}

// ServeHTTP sends the next prepared response.
func (s *Script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.next(r)(w, r)
}

func (s *Script) next(r *http.Request) http.HandlerFunc {
	s.mu.Lock()
	defer s.mu.Unlock()
	verb, count, responses := "list", &s.listed, s.Lists
	if r.URL.Query().Has("watch") {
		verb, count, responses = "watch", &s.opened, s.Watches
	}
	TrySend(s.Requests, verb+"@"+r.URL.Query().Get("resourceVersion"))
	*count++
	return responses[min(*count, len(responses))-1]
}

// SkipList removes the first of the prepared lists.
func (s *Script) SkipList() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Lists = s.Lists[1:]
}

// Config returns a client configuration for the server.
func (s *Script) Config() *rest.Config { return &rest.Config{Host: s.URL, QPS: -1} }

// ServeOpen returns a handler that sends a body and holds the response open.
func (s *Script) ServeOpen(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		Serve(contentType, body)(w, r)
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-s.closing:
		}
	}
}

// Serve returns a handler that sends a body.
func Serve(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.Copy(w, bytes.NewReader(body))
	}
}

// ServeTruncated returns a handler that sends a body and breaks the connection.
func ServeTruncated(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		Serve(contentType, body)(w, r)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// ServeStatus returns a handler that sends an error as API servers do. retryAfter and reason may be
// empty.
func ServeStatus(code int, retryAfter string, reason ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"set by the test","reason":%q,"code":%d}`,
			strings.Join(reason, ""), code)
	}
}

// Format is an encoding of API servers: the content types of lists and watches.
type Format struct{ ListType, WatchType string }

// Formats are the encodings that can be streamed, by name.
var Formats = map[string]Format{
	"JSON":     {runtime.ContentTypeJSON, runtime.ContentTypeJSON},
	"protobuf": {runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf + ";stream=watch"},
}

func (f Format) serializer() runtime.SerializerInfo {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), f.ListType)
	return info
}

// Encode returns the bytes of an object or a list, whose TypeMeta must be set.
func (f Format) Encode(obj runtime.Object) []byte {
	var b bytes.Buffer
	if err := f.serializer().Serializer.Encode(obj, &b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Nodes returns the bytes of a NodeList.
func (f Format) Nodes(resourceVersion string, nodes ...*corev1.Node) []byte {
	list := &corev1.NodeList{
		TypeMeta: TypeMeta("NodeList"),
		ListMeta: metav1.ListMeta{ResourceVersion: resourceVersion},
	}
	for _, n := range nodes {
		list.Items = append(list.Items, *n)
	}
	return f.Encode(list)
}

// Event returns the frame of a watch event. It sets the TypeMeta of a Node.
func (f Format) Event(eventType watch.EventType, obj runtime.Object) []byte {
	if n, ok := obj.(*corev1.Node); ok {
		n = n.DeepCopy()
		n.TypeMeta = TypeMeta("Node")
		obj = n
	}
	return f.Frame(eventType, f.Encode(obj))
}

// Frame returns the frame of a watch event with an encoded object.
func (f Format) Frame(eventType watch.EventType, object []byte) []byte {
	var b bytes.Buffer
	info := f.serializer()
	encoder := streaming.NewEncoder(info.StreamSerializer.NewFrameWriter(&b), info.StreamSerializer.Serializer)
	if err := encoder.Encode(&metav1.WatchEvent{Type: string(eventType), Object: runtime.RawExtension{Raw: object}}); err != nil {
		panic(err)
	}
	return b.Bytes()
}
