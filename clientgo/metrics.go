package clientgo

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/internal/feed"
)

// metered returns a source whose events client-go's metrics hear of, or the source itself
// where the options ask for none.
func metered(source feed.Source, options Options) feed.Source {
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

// meteredSource takes each event through a queue of client-go's, and each version to a store
// of client-go's that holds nothing else. These know the metrics provider of the process,
// which nobody can ask for, and count as every informer's do.
type meteredSource struct {
	feed.Source
	queue *clientcache.RealFIFO
	store clientcache.ThreadSafeStore
}

// Watch makes one watch request. One that follows a list begins at the list's version.
func (m meteredSource) Watch(ctx context.Context, options metav1.ListOptions, events feed.WatchSink) error {
	initial := options.SendInitialEvents != nil
	if !initial {
		m.reached(options.ResourceVersion)
	}
	return m.Source.Watch(ctx, options, &meteredEvents{WatchSink: events, source: m, initial: initial})
}

func (m meteredSource) reached(resourceVersion string) {
	if resourceVersion != "" {
		m.store.Bookmark(resourceVersion)
	}
}

// meteredEvents are the events of a watch on their way to the store.
type meteredEvents struct {
	feed.WatchSink
	source  meteredSource
	initial bool // they are a first state, of which the store has nothing yet
}

// Event passes an event on, through the queue.
func (m *meteredEvents) Event(eventType watch.EventType, item feed.Item) error {
	if m.initial {
		return m.WatchSink.Event(eventType, item)
	}
	if err := m.source.queue.Add(clientcache.ExplicitKey(item.Key)); err != nil {
		return err
	}
	_, err := m.source.queue.Pop(func(any, bool) error { return m.WatchSink.Event(eventType, item) })
	if err == nil {
		m.source.reached(item.ResourceVersion)
	}
	return err
}

// Bookmark passes a bookmark on.
func (m *meteredEvents) Bookmark(resourceVersion string, initialEventsEnd bool) error {
	err := m.WatchSink.Bookmark(resourceVersion, initialEventsEnd)
	m.initial = m.initial && !initialEventsEnd
	if err == nil && !m.initial {
		m.source.reached(resourceVersion)
	}
	return err
}
