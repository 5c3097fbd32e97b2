package clientgo

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/informer"
)

// Options are an informer's options. The zero value is client-go's behaviour.
type Options struct {
	// ResyncPeriod is the time between updates of every object to itself, for handlers that
	// have none of their own. Zero is never.
	ResyncPeriod time.Duration
	// Indexers are the store's indexes.
	Indexers clientcache.Indexers
	// ObjectDescription says in logs and to watch error handlers what is watched. The
	// default names the example's type.
	ObjectDescription string
	// Identifier names the informer in client-go's metrics; there are none for one that is
	// not reserved. In the options of a factory it has no effect: its InformerName has.
	Identifier clientcache.InformerNameAndResource
	// InformerMetricsProvider is where these metrics are made. The default is what
	// client-go's SetInformerMetricsProvider was given.
	InformerMetricsProvider clientcache.InformerMetricsProvider

	// Packed keeps objects as bytes, in a twentieth of the memory or so: see
	// cache.InformerOptions. A transform must not change the objects' type then.
	// controller-runtime's UnsafeDisableDeepCopy must not be set: what is read is decoded
	// and shared only as long as somebody holds it.
	Packed bool
	// ShareEqual lets objects share maps, slices and parts behind pointers that are equal:
	// see cache.InformerOptions. It has effect on what is packed or streamed.
	ShareEqual bool
	// Streaming reads lists and watches straight from the stream, if the client was made of
	// a config that cache.EnableStreaming has prepared. It must not be set for functions that
	// change what the server answers: those of client-go's and controller-runtime's factories
	// do not.
	Streaming bool
	// Delivery is EveryEvent if empty: client-go never joins events.
	Delivery cache.Delivery
	// RelistUpdates makes an update event of each object that a relist finds as it was, as
	// client-go does.
	RelistUpdates bool
}

// NewInformer is NewSharedIndexInformer with options. Its form is that of
// controller-runtime's cache.Options.NewInformer:
//
//	cache.Options{NewInformer: clientgo.Options{Packed: true}.NewInformer}
//
// Indexers and a resync period that are given take the place of those in the options.
func (o Options) NewInformer(lw clientcache.ListerWatcher, exampleObject runtime.Object, resyncPeriod time.Duration, indexers clientcache.Indexers) clientcache.SharedIndexInformer {
	if resyncPeriod != 0 {
		o.ResyncPeriod = resyncPeriod
	}
	if indexers != nil {
		o.Indexers = indexers
	}
	return NewSharedIndexInformerWithOptions(lw, exampleObject, o)
}

// delivery returns the Delivery of handlers. The default is EveryEvent.
func (o Options) delivery() informer.Delivery {
	return cmp.Or(informer.Delivery(o.Delivery), informer.EveryEvent)
}
