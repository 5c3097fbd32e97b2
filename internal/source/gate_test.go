// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
)

// TestNoItemAfterListReturned lists with a client that ignores its context and reads the body to
// its end.
func TestNoItemAfterListReturned(t *testing.T) {
	list := []byte(`{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},`)
	rest := []byte(`{"metadata":{"name":"b"}}]}`)
	returned, finished := make(chan struct{}), make(chan struct{})
	config := answering(t, func(*http.Request) (string, []byte, []byte) { return runtime.ContentTypeJSON, list, nil })
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transportFunc(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if err == nil {
				more := &late{Reader: bytes.NewReader(rest), after: returned}
				response.Body = bodyOf{io.MultiReader(response.Body, more), response.Body}
			}
			return response, err
		})
	})
	cache.EnableStreaming(config)
	client := kubernetes.NewForConfigOrDie(config)
	lw := cache.ListWatchOf(client.CoreV1().Nodes())
	inner := lw.ListFunc
	lw.ListFunc = func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		defer close(finished)
		return inner(context.WithoutCancel(ctx), options)
	}
	nodes := newSource(lw, codec.ObjectType{GoType: reflect.TypeFor[*corev1.Node]()})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := nodes.List(ctx, metav1.ListOptions{}, func(item feed.Item) error {
		if item.Key != "a" {
			t.Errorf("item %s was passed on after List had returned", item.Key)
		}
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(returned)
	<-finished
}

// late is a body that can be read only after a channel is closed.
type late struct {
	io.Reader
	after <-chan struct{}
}

func (l *late) Read(p []byte) (int, error) {
	<-l.after
	return l.Reader.Read(p)
}

type bodyOf struct {
	io.Reader
	io.Closer
}

// TestSinkErrorIsNotABrokenConnection returns an error from the sink that looks like that of a
// broken connection, at the end of the stream.
func TestSinkErrorIsNotABrokenConnection(t *testing.T) {
	refused := fmt.Errorf("refused: %w", io.ErrUnexpectedEOF)
	stream, _ := dynamicSources(t, thing, thingList)
	if err := stream.Watch(t.Context(), metav1.ListOptions{}, refusing{refused}); !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
}

// refusing returns an error for each event.
type refusing struct{ err error }

func (refusing) Opened()                                       {}
func (refusing) Bookmark(string, bool) error                   { return nil }
func (r refusing) Event(watch.EventType, feed.Item) error      { return r.err }
func (r refusing) Unreadable(watch.EventType, feed.Item) error { return r.err }

// TestRequestsThatFailBeforeTheTapLeaveTheModeUnknown fails requests above the tap.
func TestRequestsThatFailBeforeTheTapLeaveTheModeUnknown(t *testing.T) {
	config := answering(t, func(*http.Request) (string, []byte, []byte) { return "", nil, nil })
	cache.EnableStreaming(config)
	noToken := errors.New("no token")
	config.Wrap(func(http.RoundTripper) http.RoundTripper {
		return transportFunc(func(*http.Request) (*http.Response, error) { return nil, noToken })
	})
	lw := cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes())
	nodes := newSource(lw, codec.ObjectType{GoType: reflect.TypeFor[*corev1.Node]()})
	if _, err := nodes.List(t.Context(), metav1.ListOptions{}, nil); !errors.Is(err, noToken) {
		t.Errorf("error %v", err)
	}
	if err := nodes.Watch(t.Context(), metav1.ListOptions{}, nil); !errors.Is(err, noToken) {
		t.Errorf("error %v", err)
	}
	if streaming, reason := modeOf(nodes); streaming || reason != "" {
		t.Errorf("streaming: %v, %q", streaming, reason)
	}
}

// TestUnreadableResponseDoesNotEndStreaming lists, and gets the page of a proxy for a watch. What
// the server sends next is split as before.
func TestUnreadableResponseDoesNotEndStreaming(t *testing.T) {
	config := answering(t, func(r *http.Request) (string, []byte, []byte) {
		if r.URL.Query().Has("watch") {
			return "text/html", nil, []byte("<html>log in</html>")
		}
		return runtime.ContentTypeJSON, []byte(`{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`), nil
	})
	cache.EnableStreaming(config)
	nodes := newSource(cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), codec.ObjectType{GoType: reflect.TypeFor[*corev1.Node]()})
	if _, err := nodes.List(t.Context(), metav1.ListOptions{}, func(feed.Item) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := nodes.Watch(t.Context(), metav1.ListOptions{}, refusing{}); err == nil {
		t.Error("a page was read as a watch")
	}
	if !nodes.Streams() {
		_, reason := modeOf(nodes)
		t.Errorf("not streaming: %s", reason)
	}
}
