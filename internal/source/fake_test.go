// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"context"
	"errors"
	"io"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/source"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

var (
	unknown     feed.Traits
	server      = feed.Traits{Server: true}
	declared    = feed.Traits{Fake: true}
	unversioned = feed.Traits{Fake: true, Unversioned: true}
)

// openSink cancels the watch once it is open, and records what the source is known to be then.
type openSink struct {
	feed.WatchSink
	cancel func()
	source feed.Source
	traits feed.Traits
}

func (o *openSink) Opened() {
	o.traits = o.source.Traits()
	o.cancel()
}

// traitsOnceOpen watches, and returns what the source is known to be once the watch is open.
func traitsOnceOpen(t *testing.T, s feed.Source) feed.Traits {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	sink := &openSink{cancel: cancel, source: s}
	if err := s.Watch(ctx, metav1.ListOptions{}, sink); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return sink.traits
}

// TestTraitsOfASource opens one watch after another, with and without the ListerWatcher's
// declaration. Only the types of client-go's fake watches prove a fake for good.
func TestTraitsOfASource(t *testing.T) {
	var stream watch.Interface
	lw := &cache.ListWatch{
		ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return &corev1.NodeList{}, nil },
		WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return stream, nil
		},
	}
	fakeWatch := func() watch.Interface { return watch.NewFake() }
	raceFree := func() watch.Interface { return watch.NewRaceFreeFake() }
	proxy := func() watch.Interface { return watch.NewProxyWatcher(make(chan watch.Event)) }
	connection := func() watch.Interface { return watch.NewStreamWatcher(silentDecoder{make(chan struct{})}, nil) }
	for name, test := range map[string]struct {
		declares bool
		streams  []func() watch.Interface
		want     []feed.Traits // before the first request, and after each watch
	}{
		"fakes":                   {false, []func() watch.Interface{fakeWatch, raceFree, proxy}, []feed.Traits{unknown, unversioned, unversioned, declared}},
		"unknown, then a fake":    {false, []func() watch.Interface{proxy, raceFree}, []feed.Traits{unknown, unknown, unversioned}},
		"declared":                {true, []func() watch.Interface{proxy, fakeWatch, proxy}, []feed.Traits{declared, declared, unversioned, declared}},
		"declared, but connected": {true, []func() watch.Interface{connection, proxy}, []feed.Traits{declared, server, server}},
		"connected":               {false, []func() watch.Interface{proxy, connection, proxy}, []feed.Traits{unknown, unknown, server, server}},
	} {
		for mode, streaming := range map[string]source.Streaming{"unknown functions": source.Unknown, "may stream": source.Unchanged} {
			t.Run(name+", "+mode, func(t *testing.T) {
				s := source.New(source.Config{
					ListerWatcher: lw, Fake: test.declares, Streaming: streaming,
					Objects: codec.ObjectType{GoType: reflect.TypeFor[*corev1.Node]()},
				})
				if got := s.Traits(); got != test.want[0] {
					t.Errorf("before the first request: %+v, want %+v", got, test.want[0])
				}
				for i, open := range test.streams {
					stream = open()
					if got := traitsOnceOpen(t, s); got != test.want[i+1] {
						t.Errorf("once watch %d is open: %+v, want %+v", i, got, test.want[i+1])
					}
				}
			})
		}
	}
}

// silentDecoder reads nothing until it is closed.
type silentDecoder struct{ closed chan struct{} }

func (d silentDecoder) Decode() (watch.EventType, runtime.Object, error) {
	<-d.closed
	return "", nil, io.EOF
}

func (d silentDecoder) Close() { close(d.closed) }

// TestServerIsNoFake checks that a list over HTTP takes a declaration back, whether its response
// was split or not, and also without the tap.
func TestServerIsNoFake(t *testing.T) {
	for name, test := range map[string]struct {
		streaming source.Streaming
		tap       bool
	}{"split": {source.Unchanged, true}, "decoded": {source.Unknown, true}, "without a tap": {source.Unknown, false}} {
		t.Run(name, func(t *testing.T) {
			_, config := cachetest.NewProxy(t, false)
			if test.tap {
				cache.EnableStreaming(config)
			}
			s := source.New(source.Config{
				ListerWatcher: cachetest.NodesOf(config), Fake: true, Streaming: test.streaming,
				Objects: codec.ObjectType{GoType: reflect.TypeFor[*corev1.Node]()},
			})
			if got := s.Traits(); got != declared {
				t.Errorf("before the first request: %+v, want %+v", got, declared)
			}
			if _, err := s.List(t.Context(), metav1.ListOptions{}, func(feed.Item) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if got := s.Traits(); got != server {
				t.Errorf("after a list from a server: %+v, want %+v", got, server)
			}
		})
	}
}
