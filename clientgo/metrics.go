// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/internal/feed"
)

// withMetrics returns a source that updates the informer metrics of client-go. It returns source
// itself if the options do not name the informer.
func withMetrics(source feed.Source, options clientcache.SharedIndexInformerOptions) feed.Source {
	if !options.Identifier.Reserved() {
		return source
	}
	return meteredSource{
		Source: source,
		queue: clientcache.NewRealFIFOWithOptions(clientcache.RealFIFOOptions{
			Identifier: options.Identifier, MetricsProvider: options.InformerMetricsProvider, AtomicEvents: true,
		}),
		store: clientcache.NewThreadSafeStore(clientcache.Indexers{}, clientcache.Indices{},
			clientcache.WithThreadSafeStoreMetrics(options.Identifier, options.InformerMetricsProvider)),
	}
}

// meteredSource passes each event through a queue of client-go, and each resourceVersion to an
// empty store of client-go. Both update the metrics as in an informer of client-go. They have
// access to the metrics provider of the process, which client-go does not export.
type meteredSource struct {
	feed.Source
	queue *clientcache.RealFIFO
	store clientcache.ThreadSafeStore
}

// Watch implements feed.Source. A watch that follows a list starts at the list's resourceVersion.
func (m meteredSource) Watch(ctx context.Context, options metav1.ListOptions, events feed.WatchSink) error {
	initial := options.SendInitialEvents != nil
	if !initial {
		m.recordVersion(options.ResourceVersion)
	}
	return m.Source.Watch(ctx, options, &meteredSink{WatchSink: events, source: m, initial: initial})
}

func (m meteredSource) recordVersion(resourceVersion string) {
	if resourceVersion != "" {
		m.store.Bookmark(resourceVersion)
	}
}

// meteredSink updates the metrics with the events of a watch.
type meteredSink struct {
	feed.WatchSink
	source  meteredSource
	initial bool // the events belong to an initial state that is not stored yet
}

func (m *meteredSink) Event(eventType watch.EventType, item feed.Item) error {
	if m.initial {
		return m.WatchSink.Event(eventType, item)
	}
	if err := m.source.queue.Add(clientcache.ExplicitKey(item.Key)); err != nil {
		return err
	}
	_, err := m.source.queue.Pop(func(any, bool) error { return m.WatchSink.Event(eventType, item) })
	if err == nil {
		m.source.recordVersion(item.ResourceVersion)
	}
	return err
}

func (m *meteredSink) Bookmark(resourceVersion string, initialEventsEnd bool) error {
	err := m.WatchSink.Bookmark(resourceVersion, initialEventsEnd)
	m.initial = m.initial && !initialEventsEnd
	if err == nil && !m.initial {
		m.source.recordVersion(resourceVersion)
	}
	return err
}
