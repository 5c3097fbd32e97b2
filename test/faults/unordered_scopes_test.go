// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
)

// selected is a server that sends lists and events of the Widgets of each label selector.
type selected struct {
	version string // of all lists

	mu       sync.Mutex
	items    map[string][]string
	watches  map[string]chan string
	requests []string
}

// RoundTrip implements http.RoundTripper.
func (n *selected) RoundTrip(request *http.Request) (*http.Response, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	lane := request.URL.Query().Get("labelSelector")
	answer := func(body io.ReadCloser) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: request}, nil
	}
	if request.URL.Query().Get("watch") != "true" {
		n.requests = append(n.requests, "list "+lane)
		return answer(io.NopCloser(strings.NewReader(listText(n.version, n.items[lane]...))))
	}
	n.requests = append(n.requests, "watch "+lane)
	reader, writer := io.Pipe()
	lines := make(chan string)
	n.watches[lane] = lines
	go func() {
		defer writer.Close()
		for {
			select {
			case line, ok := <-lines:
				if !ok {
					return
				}
				_, _ = io.WriteString(writer, line)
			case <-request.Context().Done():
				return
			}
		}
	}()
	return answer(reader)
}

func (n *selected) send(lane, line string) {
	n.mu.Lock()
	lines := n.watches[lane]
	n.mu.Unlock()
	lines <- line
	synctest.Wait()
}

// runSelected runs an informer over scopes of the labels l=a and l=b.
func runSelected(t *testing.T, n *selected) (informer *cache.SharedInformer[*unstructured.Unstructured], stop func()) {
	t.Helper()
	config := &rest.Config{Host: "http://server", QPS: -1, Transport: n}
	cache.EnableStreaming(config)
	widgets := dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"})
	informer = cache.NewSharedInformer(cache.ListWatchOf(widgets), ofKind("example.com/v1", "Widget"), cache.InformerOptions[*unstructured.Unstructured]{
		Logger: logr.Discard(), Scopes: cache.NewScopes(cache.Scope{LabelSelector: "l=a"}, cache.Scope{LabelSelector: "l=b"}),
	})
	stop = runInformer(t, informer)
	<-time.After(time.Second)
	synctest.Wait()
	return informer, stop
}

func labelled(name, uid, version, label string) string {
	return strings.Replace(strings.Replace(widgetText(name, version), "uid-"+name, uid, 1), `"metadata":{`, fmt.Sprintf(`"metadata":{"labels":{"l":%q},`, label), 1)
}

// In an unordered collection, a recreated object of a scope is stored, whatever the version of the
// one before.
func TestRecreatedObjectOfAnUnorderedScopeIsStored(t *testing.T) {
	for _, version := range []string{"", "opaque"} {
		for _, lane := range []string{"l=a", "l=b"} {
			t.Run(version+" "+lane, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := &selected{version: version, items: map[string][]string{"l=a": {labelled("x", "u1", "1001", "a")}}, watches: make(map[string]chan string)}
					informer, stop := runSelected(t, n)
					defer stop()
					if lane == "l=a" {
						n.send("l=a", eventText("DELETED", labelled("x", "u1", "1002", "a")))
					}
					n.send(lane, eventText("ADDED", labelled("x", "u2", "7", lane[2:])))
					if lane == "l=b" {
						n.send("l=a", eventText("DELETED", labelled("x", "u1", "1002", "a")))
					}
					if got := describeAll(informer.Store().List()); got != "x@7=<nil>" {
						t.Errorf("stored %q", got)
					}
				})
			})
		}
	}
}

// An event of an unordered collection that another scope has, or the filter fails for, does not
// bring a version of the collection.
func TestUnorderedEventBringsNoVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{list: func(string) string { return listText("opaque", widgetText("a", "8")) }}
		informer := cache.NewSharedInformer(cache.ListWatchOf(s.client()), ofKind("example.com/v1", "Widget"), cache.InformerOptions[*unstructured.Unstructured]{
			Logger: logr.Discard(), Scopes: cache.NewScopes(cache.Scope{Hash: cache.HashRange{Field: cache.HashUID, Last: 1 << 63}}),
			Filter: func(u *unstructured.Unstructured) bool {
				if u.GetName() == "bad" {
					panic("bad")
				}
				return true
			},
		})
		defer runInformer(t, informer)()
		for i := range 20 {
			s.send(eventText("ADDED", strings.ReplaceAll(widgetText("bad", fmt.Sprint(1000+i)), "uid-bad", fmt.Sprint("uid-", i))))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := informer.WaitForResourceVersion(ctx, "1000"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the collection has reached 1000: %v", err)
		}
		if got := informer.Store().Snapshot().ResourceVersion(); got != "opaque" {
			t.Errorf("at version %q", got)
		}
	})
}

// Watches of ranges of hashes are not joined in an unordered collection: no version is the lowest.
func TestUnorderedStreamsAreNotJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &selected{version: "opaque", items: map[string][]string{"": {widgetText("a", "8")}}, watches: make(map[string]chan string)}
		config := &rest.Config{Host: "http://server", QPS: -1, Transport: n}
		cache.EnableStreaming(config)
		widgets := dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"})
		scopes := cache.NewScopes(cache.Scope{Hash: cache.HashRange{Field: cache.HashUID, Last: 1 << 63}})
		informer := cache.NewSharedInformer(cache.ListWatchOf(widgets), ofKind("example.com/v1", "Widget"), cache.InformerOptions[*unstructured.Unstructured]{
			Logger: logr.Discard(), Scopes: scopes,
		})
		defer runInformer(t, informer)()
		<-time.After(time.Second)
		if err := scopes.Add(cache.Scope{Hash: cache.HashRange{Field: cache.HashUID, First: 1<<63 + 1, Last: math.MaxUint64}}); err != nil {
			t.Fatal(err)
		}
		<-time.After(4 * time.Minute)
		n.mu.Lock()
		defer n.mu.Unlock()
		if got := strings.Count(strings.Join(n.requests, ","), "watch"); got != 2 || informer.Status().Err != nil {
			t.Errorf("requests %v, error %v", n.requests, informer.Status().Err)
		}
	})
}
