package clientgo

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/informer"
)

// Options are the options of an informer. With the zero value it behaves as client-go's.
type Options struct {
	// ResyncPeriod is the time between updates of every object to itself, for handlers without a
	// period of their own. Zero disables resyncs.
	ResyncPeriod time.Duration
	// Indexers are the initial indexes of the store.
	Indexers clientcache.Indexers
	// ObjectDescription describes the watched objects in logs and to watch error handlers. The
	// default is the example's type.
	ObjectDescription string
	// Identifier names the informer in client-go's metrics. An informer has no metrics unless its
	// identifier is reserved. Factories ignore it; see FactoryOptions.InformerName.
	Identifier clientcache.InformerNameAndResource
	// InformerMetricsProvider creates these metrics. The default is the provider that was passed
	// to client-go's SetInformerMetricsProvider.
	InformerMetricsProvider clientcache.InformerMetricsProvider

	// Packed stores objects as bytes, in about a twentieth of the memory; see
	// cache.InformerOptions. A transform must then not change the type of objects. A decoded
	// object is shared only while a reader references it, so controller-runtime's
	// UnsafeDisableDeepCopy must not be set.
	Packed bool
	// ShareEqual lets objects share equal maps, slices and sub-messages; see
	// cache.InformerOptions. It has no effect unless Packed or Streaming is set.
	ShareEqual bool
	// Streaming reads lists and watches straight from the response, if the client's config was
	// prepared by cache.EnableStreaming. It must not be set if the list or watch function changes
	// the server's response. The functions of client-go's and controller-runtime's factories do
	// not change it.
	Streaming bool
	// Delivery controls which events a slow handler receives. The default is cache.EveryEvent, as
	// client-go never coalesces events.
	Delivery cache.Delivery
	// RelistUpdates makes a relist emit an update for each unchanged object, as client-go does.
	RelistUpdates bool
}

// NewInformer returns an informer of lw's objects that is not running. It has the signature of
// controller-runtime's cache.Options.NewInformer:
//
//	cache.Options{NewInformer: clientgo.Options{Packed: true}.NewInformer}
//
// A resync period other than zero, and indexers other than nil, replace those of the options.
func (o Options) NewInformer(lw clientcache.ListerWatcher, exampleObject runtime.Object, resyncPeriod time.Duration, indexers clientcache.Indexers) clientcache.SharedIndexInformer {
	if resyncPeriod != 0 {
		o.ResyncPeriod = resyncPeriod
	}
	if indexers != nil {
		o.Indexers = indexers
	}
	return NewSharedIndexInformerWithOptions(lw, exampleObject, o)
}

func (o Options) delivery() informer.Delivery {
	return cmp.Or(informer.Delivery(o.Delivery), informer.EveryEvent)
}
