// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// twoServers are two API servers of different minor versions behind one address. The newer one
// answers every other watch, and every other list.
type twoServers struct {
	next     http.RoundTripper
	decorate func(object map[string]any) // what the newer one shows of an object
	lists    atomic.Int64
	watches  atomic.Int64
	small    atomic.Int64 // lists of one object
	late     atomic.Int64 // how long a watch sends nothing, in nanoseconds
	begins   atomic.Int64 // watches from an older version are refused with 410
	open     sync.Map     // the pipes of open watches
}

// breakWatches breaks the connections of all watches.
func (s *twoServers) breakWatches() {
	s.open.Range(func(writer, _ any) bool {
		writer.(*io.PipeWriter).CloseWithError(syscall.ECONNRESET)
		return true
	})
	synctest.Wait()
}

func (s *twoServers) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	isWatch, n := query.Get("watch") != "", int64(0)
	switch {
	case isWatch:
		n = s.watches.Add(1)
		if from, err := strconv.ParseInt(query.Get("resourceVersion"), 10, 64); err == nil && from < s.begins.Load() {
			return expired(request), nil
		}
	case query.Get("limit") == "1":
		s.small.Add(1)
	default:
		n = s.lists.Add(1)
	}
	response, err := s.next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusOK || request.Method != http.MethodGet {
		return response, err
	}
	body, late := response.Body, time.Duration(s.late.Load())
	reader, writer := io.Pipe()
	response.Body, response.ContentLength = struct {
		io.Reader
		io.Closer
	}{reader, closers{reader, body}}, -1
	response.Header.Del("Content-Length")
	if isWatch {
		s.open.Store(writer, true)
	}
	go func() {
		defer s.open.Delete(writer)
		if isWatch {
			<-time.After(late)
		}
		writer.CloseWithError(s.copy(writer, body, n%2 == 0))
	}()
	return response, nil
}

// copy copies one line after another, each of which is a list or an event.
func (s *twoServers) copy(to io.Writer, from io.Reader, newer bool) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if s.decorate != nil && len(bytes.TrimSpace(line)) > 0 { // both write members in one order
			var body map[string]any
			if err := json.Unmarshal(line, &body); err != nil {
				return err
			}
			if newer {
				s.decorateAll(body)
			}
			line, _ = json.Marshal(body)
		}
		if _, err := to.Write(line); err != nil {
			return err
		}
		if err != nil {
			return err
		}
	}
}

func (s *twoServers) decorateAll(body map[string]any) {
	if object, ok := body["object"].(map[string]any); ok && body["type"] != "BOOKMARK" {
		s.decorate(object)
	}
	items, _ := body["items"].([]any)
	for _, item := range items {
		s.decorate(item.(map[string]any))
	}
}

type closers []io.Closer

func (c closers) Close() error {
	for _, closer := range c {
		_ = closer.Close()
	}
	return nil
}

// expired returns the response to a watch whose resourceVersion is too old.
func expired(request *http.Request) *http.Response {
	status, _ := json.Marshal(fake.Expired())
	return &http.Response{
		StatusCode: http.StatusGone, Status: "410 Gone", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(status)),
	}
}

var widgetResource = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// decorations are what a newer API server may show of an object.
var decorations = map[string]func(object map[string]any){
	"a default in spec": func(object map[string]any) {
		if spec, ok := object["spec"].(map[string]any); ok {
			spec["addedDefault"] = "x"
		}
	},
	"a label":       func(object map[string]any) { setMetadata(object, "labels") },
	"an annotation": func(object map[string]any) { setMetadata(object, "annotations") },
}

func setMetadata(object map[string]any, field string) {
	metadata := object["metadata"].(map[string]any)
	values, _ := metadata[field].(map[string]any)
	if values == nil {
		values = map[string]any{}
	}
	values["example.com/added"] = "x"
	metadata[field] = values
}

// skewed is an informer of two servers, with what it has delivered.
type skewed struct {
	servers        *twoServers
	server         *fake.APIServer
	client         dynamic.Interface
	status         func() cache.Status
	updates, empty atomic.Int64 // an update is empty if its resourceVersion is the one before
}

// write writes the nth object, by one manager among others.
func (s *skewed) write(t *testing.T, resource schema.GroupVersionResource, n int, value string) {
	t.Helper()
	objects := s.client.Resource(resource).Namespace("ns")
	name := fmt.Sprintf("o%03d", n)
	object, err := objects.Get(t.Context(), name, metav1.GetOptions{})
	if err == nil {
		_ = unstructured.SetNestedField(object.Object, value, "metadata", "labels", "value")
		_, err = objects.Update(t.Context(), object, metav1.UpdateOptions{})
	} else {
		object = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": "ns"},
			"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}},
		}}
		if resource == widgetResource {
			object.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"})
		}
		_, err = objects.Create(t.Context(), object, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// counting returns a handler that counts updates.
func counting[T cache.Object](s *skewed) cache.EventHandler[T] {
	return cache.ResourceEventHandlerFuncs[T]{UpdateFunc: func(before, after T) {
		s.updates.Add(1)
		if before.GetResourceVersion() == after.GetResourceVersion() {
			s.empty.Add(1)
		}
	}}
}

// runSkewed runs an informer of objects in a bubble. Its server has n objects.
func runSkewed[T cache.Object](t *testing.T, example T, resource schema.GroupVersionResource, options cache.InformerOptions[T],
	list func(*rest.Config) cache.ListerWatcher, servers *twoServers, n int, test func(t *testing.T, s *skewed),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := startInMemory(t)
		defer func() { _ = server.Close(context.Background()) }()
		s := &skewed{servers: servers, server: server, client: dynamic.NewForConfigOrDie(server.Config())}
		for i := range n {
			s.write(t, resource, i, "0")
		}
		config := server.Config()
		servers.next = config.Transport
		config.Transport = servers
		cache.EnableStreaming(config)
		informer := cache.NewSharedInformer(list(config), example, options)
		if _, err := informer.AddEventHandler(counting[T](s), cache.HandlerOptions{}); err != nil {
			t.Fatal(err)
		}
		s.status = informer.Status
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- informer.Run(ctx) }()
		synctest.Wait()
		if !informer.HasSynced() || !informer.Status().Requests.Streaming {
			t.Fatalf("not synced, or not streaming: %+v", informer.Status())
		}
		test(t, s)
		if got := informer.Store().Len(); got != n {
			t.Errorf("%d objects, want %d", got, n)
		}
		cancel()
		<-stopped
	})
}

func ofKind(apiVersion, kind string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
}

func skewedPods(config *rest.Config) cache.ListerWatcher {
	return cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(corev1.SchemeGroupVersion.WithResource("pods")))
}

func skewedWidgets(config *rest.Config) cache.ListerWatcher {
	return cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(widgetResource))
}

// TestServersOfTwoMinorsCauseNoList follows two API servers of which the newer one shows more of
// each object, for three hours if that is a default in spec. Nothing fails. Watches live as long as
// asked for, or a minute.
func TestServersOfTwoMinorsCauseNoList(t *testing.T) {
	for name, decorate := range decorations {
		minutes := map[bool]int{true: 180, false: 40}[name == "a default in spec"]
		for life, broken := range map[string]bool{"watches that break each minute": true, "watches that live": false} {
			test := func(resource schema.GroupVersionResource) func(t *testing.T, s *skewed) {
				return func(t *testing.T, s *skewed) {
					t.Helper()
					for minute := range minutes {
						for i := range 2 {
							s.write(t, resource, (2*minute+i)%20, fmt.Sprint(minute))
						}
						<-time.After(time.Minute)
						if broken {
							s.servers.breakWatches()
						}
					}
					if lists := s.servers.lists.Load(); lists != 1 || s.empty.Load() != 0 || s.updates.Load() != int64(2*minutes) {
						t.Errorf("%d lists, %d updates, %d of them empty, want 1, %d and none; relists %v", lists, s.updates.Load(), s.empty.Load(), 2*minutes, s.status().Requests.Relists)
					}
				}
			}
			t.Run("Pods/"+name+"/"+life, func(t *testing.T) {
				runSkewed(t, ofKind("v1", "Pod"), corev1.SchemeGroupVersion.WithResource("pods"), cache.InformerOptions[*unstructured.Unstructured]{}, skewedPods, &twoServers{decorate: decorate}, 20,
					test(corev1.SchemeGroupVersion.WithResource("pods")))
			})
			t.Run("custom/"+name+"/"+life, func(t *testing.T) {
				runSkewed(t, ofKind("example.com/v1", "Widget"), widgetResource, cache.InformerOptions[*unstructured.Unstructured]{Packed: true}, skewedWidgets, &twoServers{decorate: decorate}, 20,
					test(widgetResource))
			})
		}
	}
}
