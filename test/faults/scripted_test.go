// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
)

// scripted is a server of Widgets in JSON. A test decides what it sends, byte by byte.
type scripted struct {
	list  func(query string) string // the body of a list
	watch string                    // the parameter that tells watches apart; "" if there is one at a time
	lines map[string]chan string    // of the last watch with each value of the parameter; closed to end it

	mu       sync.Mutex
	requests []string
}

// RoundTrip implements http.RoundTripper.
func (s *scripted) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	answer := func(body io.ReadCloser) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: request}, nil
	}
	isWatch, version := query.Get("watch") == "true", query.Get("resourceVersion")
	s.mu.Lock()
	defer s.mu.Unlock()
	if !isWatch {
		s.requests = append(s.requests, "list@"+version)
		return answer(io.NopCloser(strings.NewReader(s.list(request.URL.RawQuery))))
	}
	text := "watch@" + version
	if query.Get("sendInitialEvents") == "true" {
		text += "+"
	}
	s.requests = append(s.requests, text)
	reader, writer := io.Pipe()
	lines := make(chan string)
	if s.lines == nil {
		s.lines = make(map[string]chan string)
	}
	s.lines[query.Get(s.watch)] = lines
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

// send sends lines to the open watch, one after the other.
func (s *scripted) send(lines ...string) { s.sendTo("", lines...) }

// sendTo sends lines to the open watch with a value of the parameter.
func (s *scripted) sendTo(value string, lines ...string) {
	s.mu.Lock()
	open := s.lines[value]
	s.mu.Unlock()
	for _, line := range lines {
		select {
		case open <- line:
		case <-time.After(time.Hour):
			panic("the watch has ended, and no other one follows")
		}
		synctest.Wait()
	}
}

// endWatch ends the open watch.
func (s *scripted) endWatch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.lines[""])
}

// sent returns the requests that the server has received.
func (s *scripted) sent() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.requests, " ")
}

// client returns a client of the server's Widgets.
func (s *scripted) client() dynamic.ResourceInterface {
	config := &rest.Config{Host: "http://server", QPS: -1, Transport: s}
	cache.EnableStreaming(config)
	return dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"})
}

// widgetText is a Widget in JSON.
func widgetText(name, version string) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"namespace":"ns","name":%q,"uid":"uid-%s","resourceVersion":%q}}`, name, name, version)
}

func eventText(eventType, object string) string {
	return fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", eventType, object)
}

// bookmarkText is a bookmark, with annotations in JSON.
func bookmarkText(version, annotations string) string {
	return eventText("BOOKMARK", fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"resourceVersion":%q,"annotations":{%s}}}`, version, annotations))
}

const (
	// expiredText is a 410 as an event.
	expiredText = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Expired"}}` + "\n"
	// endAnnotation is that of the bookmark that ends the initial state of a WatchList.
	endAnnotation = `"k8s.io/initial-events-end":"true"`
)

func listText(version string, items ...string) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"WidgetList","metadata":{"resourceVersion":%q},"items":[%s]}`, version, strings.Join(items, ","))
}
