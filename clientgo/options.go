package clientgo

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/source"
)

// Options are what an informer of this package offers beyond client-go's. With the zero value it
// behaves as client-go's.
type Options struct {
	// Packed stores objects as bytes, in about a twentieth of the memory; see
	// cache.InformerOptions. Objects to which a transform gives another type are kept as they are,
	// which is logged once. A decoded object is shared only while it is kept (see HotBytes) or a
	// reader references it, so controller-runtime's UnsafeDisableDeepCopy must not be set.
	Packed bool
	// HotBytes is the memory of the recently decoded objects that an informer keeps if Packed is
	// set; see cache.InformerOptions.
	HotBytes int64
	// ShareEqual lets objects share equal maps, slices and sub-messages; see
	// cache.InformerOptions. It has no effect unless Packed is set or the informer streams.
	ShareEqual bool
	// OmitFields are fields that the informer leaves out of the objects, such as
	// "metadata.managedFields"; see cache.InformerOptions. In a factory, each path must be one of
	// every type. An informer with a wrong path does not run, and logs why.
	OmitFields []string
	// ReadOnly says that the program does not write the objects that it reads from the informer, so
	// that OmitFields may have other fields than metadata.managedFields. An Update of a cached
	// object would delete the omitted fields at the server, and a JSON merge patch with a list,
	// computed from a cached object, those of the list's elements. Some of these updates are
	// refused; see cache.InformerOptions.
	ReadOnly bool
	// Streaming lets the informer read lists and watches straight from the response, which works
	// if the client's config was prepared by cache.EnableStreaming. Set it if the program's own
	// list and watch functions return the server's response unchanged. It is not needed for the
	// factories of this package, [Generated], [Adopt] and [Options.NewInformer], whose functions
	// do.
	//
	// A warning with the reason is logged once if Streaming is set or the config was prepared, and
	// the informer does not stream. Status.NotStreamingReason has the reason, too; see [StatusOf].
	Streaming bool
	// DisableStreaming makes the client decode the objects, whatever the functions are. Set it if
	// an informer passed to [Adopt] filters or changes the server's response. The client then
	// repeats some failed requests by itself, up to ten times each, in addition to the informer.
	DisableStreaming bool
	// Delivery controls which events a slow handler receives. The default is cache.EveryEvent, as
	// client-go never coalesces events.
	Delivery cache.Delivery
	// Limits bound what is accepted of a server, in bytes, where the informer streams. The zero
	// value is right for production.
	Limits cache.Limits
	// RelistUpdates makes a relist emit an update for each unchanged object, as client-go does.
	RelistUpdates bool
	// Filter selects the objects to store. An object that it refuses is absent from the store; if
	// it was stored before, that is a deletion. Filter is called with the object as the server sent
	// it, but for OmitFields, before the transform, and must depend on the object alone and not
	// change it. In a factory, it is called with the objects of every informer. A panic is an error
	// on that object, whose last good state is kept. See cache.ErrSkip for a transform that ignores
	// states.
	Filter func(obj any) bool
	// Group, if set, receives every informer that is made with these options, so that packages
	// metrics and debug can show them.
	Group *cache.Group
}

// NewInformer returns an informer of lw's objects that is not running. It has the signature of
// controller-runtime's cache.Options.NewInformer:
//
//	cache.Options{NewInformer: clientgo.Options{Packed: true}.NewInformer}
//
// controller-runtime's list and watch functions do not change the server's response, so the
// informer streams if cache.EnableStreaming has prepared the config.
func (o Options) NewInformer(lw clientcache.ListerWatcher, exampleObject runtime.Object, resyncPeriod time.Duration, indexers clientcache.Indexers) clientcache.SharedIndexInformer {
	return newInformer(lw, exampleObject, settings{
		SharedIndexInformerOptions: clientcache.SharedIndexInformerOptions{ResyncPeriod: resyncPeriod, Indexers: indexers},
		Options:                    o,
		unchanged:                  true,
	})
}

func (o Options) delivery() informer.Delivery {
	return cmp.Or(informer.Delivery(o.Delivery), informer.EveryEvent)
}

// limits returns the limits of a single response.
func (o Options) limits() source.Limits {
	return source.Limits{Object: o.Limits.Object, Header: o.Limits.Header}
}

// withoutEffectOnReflectors returns the names of the options that are set, and that a Reflector,
// whose store is the program's, cannot apply.
func (o Options) withoutEffectOnReflectors() (names []string) {
	if o.Packed {
		names = append(names, "Packed")
	}
	if o.Filter != nil {
		names = append(names, "Filter")
	}
	if len(o.OmitFields) > 0 {
		names = append(names, "OmitFields")
	}
	return names
}

// settings are all options of an informer.
type settings struct {
	clientcache.SharedIndexInformerOptions
	Options
	unchanged       bool // the list and watch function are known to return the server's response unchanged
	minWatchTimeout time.Duration
}

// streaming returns what is known of the list and watch function, and what the program asks for.
func (s settings) streaming() source.Streaming {
	switch {
	case s.DisableStreaming:
		return source.Disabled
	case s.Streaming:
		return source.Requested
	case s.unchanged:
		return source.Unchanged
	}
	return source.Unknown
}
