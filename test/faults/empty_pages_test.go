// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
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

// scripted is a server of Widgets in JSON. A test decides what its lists have, byte by byte. Its
// watches stay open, and send nothing.
type scripted struct {
	list func(query string) string // returns the body of a list
}

// RoundTrip implements http.RoundTripper.
func (s *scripted) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Query().Get("watch") != "true" {
		return answer(request, io.NopCloser(strings.NewReader(s.list(request.URL.RawQuery)))), nil
	}
	reader, writer := io.Pipe()
	context.AfterFunc(request.Context(), func() { _ = writer.Close() })
	return answer(request, reader), nil
}

func answer(request *http.Request, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: request}
}

// client returns a client of the server's Widgets.
func (s *scripted) client() dynamic.ResourceInterface {
	config := &rest.Config{Host: "http://server", QPS: -1, Transport: s}
	cache.EnableStreaming(config)
	return dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"})
}

// page is a page of a list of Widgets. next is the token of the page that follows, empty if none
// does.
func page(next, item string) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"WidgetList","metadata":{"resourceVersion":"10","continue":%q},"items":[%s]}`, next, item)
}

// A list may have pages without items, in any number and anywhere. It is stored, and the rate of
// its requests is limited.
func TestEmptyPagesDoNotEndList(t *testing.T) {
	for name, pages := range map[string][]int{ // numbers of empty pages before each object, and after the last
		"at the beginning":            {20, 0},
		"at the end":                  {0, 20},
		"between":                     {0, 20, 0},
		"everywhere":                  {50, 50, 50, 50},
		"as many as are free":         {100, 100},
		"so many that they are paced": {150, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var items []string // of each page
				objects := 0
				for i, empty := range pages {
					items = append(items, make([]string, empty)...)
					if i < len(pages)-1 {
						objects++
						items = append(items, fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w%d","uid":"%d","resourceVersion":"9"}}`, objects, objects))
					}
				}
				var at []time.Time
				s := &scripted{list: func(query string) string {
					values, _ := url.ParseQuery(query)
					if values.Get("limit") == "1" {
						return page("", "")
					}
					at = append(at, time.Now())
					n, _ := strconv.Atoi(values.Get("continue"))
					next := ""
					if n+1 < len(items) {
						next = strconv.Itoa(n + 1)
					}
					return page(next, items[n])
				}}
				informer := cache.NewSharedInformer(cache.ListWatchOf(s.client()), ofKind("example.com/v1", "Widget"), cache.InformerOptions[*unstructured.Unstructured]{Logger: logr.Discard()})
				stop := runInformer(t, informer)
				defer stop()
				<-time.After(10 * time.Minute)
				if status := informer.Status(); !status.Synced || status.Objects != objects || status.Lists > 2+uint64(len(items)) {
					t.Errorf("synced %v, %d objects, %d requests for %d pages, %v", status.Synced, status.Objects, status.Lists, len(items), status.Err)
				}
				if took := at[len(at)-1].Sub(at[0]); (took > time.Second) != (name == "so many that they are paced") {
					t.Errorf("the list took %v", took)
				}
			})
		})
	}
}
