// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/engine"
	"github.com/kinformer/kinformer/internal/feed"
)

// editCounter counts the edits of a source's objects.
type editCounter struct {
	feed.Source
	edits, items atomic.Int64
	listed       chan editCounts // receives the counts after each list
}

type editCounts struct{ items, edits int64 }

func (c *editCounter) counts() editCounts { return editCounts{c.items.Load(), c.edits.Load()} }

func (c *editCounter) List(ctx context.Context, options metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	defer func() { c.listed <- c.counts() }()
	return c.Source.List(ctx, options, func(item feed.Item) error { return add(c.counted(item)) })
}

func (c *editCounter) Watch(ctx context.Context, options metav1.ListOptions, events feed.WatchSink) error {
	return c.Source.Watch(ctx, options, countedEvents{events, c})
}

func (c *editCounter) counted(item feed.Item) feed.Item {
	c.items.Add(1)
	item.Codec = countedCodec{item.Codec.(feed.EditingCodec), c}
	return item
}

type countedEvents struct {
	feed.WatchSink
	counter *editCounter
}

func (e countedEvents) Event(eventType watch.EventType, item feed.Item) error {
	return e.WatchSink.Event(eventType, e.counter.counted(item))
}

// countedCodec counts the edits, which Decode makes, too.
type countedCodec struct {
	feed.EditingCodec
	counter *editCounter
}

func (c countedCodec) Edit(dst []byte, item feed.Item) ([]byte, feed.Item, bool) {
	c.counter.edits.Add(1)
	return c.EditingCodec.Edit(dst, item)
}

func (c countedCodec) Decode(raw []byte) (runtime.Object, error) {
	c.counter.edits.Add(1)
	return c.EditingCodec.Decode(raw)
}

// TestUnchangedObjectsAreNotEdited covers a relist after a 410: an object whose version the store
// has is not edited again.
func TestUnchangedObjectsAreNotEdited(t *testing.T) {
	const pods = 30
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(context.WithoutCancel(t.Context())) })
	for i := range pods {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("pod-", i)}}
		if err := server.Create(pod); err != nil {
			t.Fatal(err)
		}
	}
	config := server.Config()
	EnableStreaming(config)
	lw := ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Pods(""))
	objects := codec.ObjectType{GoType: reflect.TypeFor[*corev1.Pod]()}
	for _, packed := range []bool{false, true} {
		t.Run(fmt.Sprint("packed ", packed), func(t *testing.T) {
			server.InjectFault(1, func(r fake.APIRequest) bool { return r.Verb == "watch" }, fake.Fault{Err: apierrors.NewResourceExpired("too old")})
			options := InformerOptions[*corev1.Pod]{Packed: packed, StartAny: true, OmitFields: []string{"metadata.managedFields"}}
			counter := &editCounter{listed: make(chan editCounts, 10)}
			spec := options.spec(lw, objects, nil, options.reflectorOptions().reporter(objects, nil))
			spec.Wrap = func(items feed.Source) feed.Source {
				counter.Source = items
				return counter
			}
			engine, err := engine.New(spec)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- engine.Run(ctx) }()
			check := func(got editCounts, items, edits int64) {
				t.Helper()
				if got != (editCounts{items, edits}) {
					t.Errorf("%d edits of %d objects, want %d of %d", got.edits, got.items, edits, items)
				}
			}
			check(<-counter.listed, pods, pods)
			<-counter.listed
			labelPod(t, server)
			if err := engine.WaitForResourceVersion(t.Context(), server.ResourceVersion()); err != nil {
				t.Fatal(err)
			}
			check(counter.counts(), 2*pods+1, pods+1)
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// labelPod labels a Pod with the server's version.
func labelPod(t *testing.T, server *fake.APIServer) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod-0"}}
	if err := server.Get(pod); err != nil {
		t.Fatal(err)
	}
	pod.Labels = map[string]string{"version": server.ResourceVersion()}
	if err := server.Update(pod); err != nil {
		t.Fatal(err)
	}
}
