package cache

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/informer"
)

// InformerOptions are a SharedInformer's options. The zero value is what production
// wants.
type InformerOptions[T Object] struct {
	// Name is used in logs and errors. The default names the type.
	Name string
	// ResyncPeriod is the time between updates of every object to itself, for handlers
	// that have none of their own. Zero is never, which is right for nearly everyone.
	ResyncPeriod time.Duration
	// Indexers are the store's indexes.
	Indexers Indexers[T]
	// Transform changes objects before they are stored: drops fields that nobody reads,
	// say.
	Transform TransformFunc[T]
	// Filter, if set, says which objects are stored. What it refuses is not there, and
	// is a deletion (with Event.Departed) if it was. It sees objects as the server sent
	// them, before Transform, must depend on the object alone, and must not change it.
	// A panic in it is an error on that object, which keeps its last good state.
	Filter func(obj T) bool

	// How entries are kept.

	// MetadataIndexers are more of the store's indexes. They do not need the objects
	// of a packed informer decoded.
	MetadataIndexers MetadataIndexers
	// Packed keeps objects as bytes, packed against their siblings: in a twentieth of
	// the memory, and a decode for whoever reads one that nobody else is holding (some
	// 20 µs for a Pod). It is for large collections of which little is read at a time;
	// docs/packing.md says when it does not pay. Objects of generated types come without
	// apiVersion and kind, and with empty maps and slices as nil, as from protobuf.
	Packed bool
	// ShareEqual lets objects share not only strings but maps, slices and parts
	// behind pointers that are equal. A caller's forbidden write into one object is then
	// seen in others; who cannot rule that out leaves it off. It has no effect on what
	// comes through a closure without streaming.
	ShareEqual bool

	// DetectMutations is for tests and debugging: it keeps a copy of each object, and
	// reports to ErrorHandler which object was written into, and in which field
	// (ErrMutated): once a second, and before Run returns. It doubles the memory, and a
	// check that meets the write itself is a data race. The environment's
	// KUBE_CACHE_MUTATION_DETECTOR=true has it for every informer that does not pack.
	// With Packed it is an error: there a reader's object is not what is kept.
	DetectMutations bool

	// How the collection is followed.

	// InitialSync is how whole states are got.
	ListMode ListMode
	// PageSize is the limit of one list request, in objects. Zero asks for pages
	// of 500 where the server would answer from etcd anyway; negative never asks
	// for pages.
	PageSize int64
	// Backoff spaces failed attempts. The zero value begins at 0.8 s, doubles up
	// to 30 s, jittered, and begins anew after two minutes without a failure.
	Backoff wait.Backoff
	// ErrorHandler hears what goes wrong. The default logs it, and the same error
	// again only after five minutes.
	ErrorHandler ErrorHandler
	// Logger is used instead of the context's if it is set.
	Logger klog.Logger
	// Clock is the real one if nil.
	Clock clock.Clock
}

// TransformFunc returns what is to be stored of an object, which may be the object
// itself, changed: nobody else has it. It is called once for each object received. One
// that returns an error or nil, panics, or changes name or namespace is an error on that
// object, which keeps its last good state; UID and resourceVersion may be dropped.
type TransformFunc[T Object] func(obj T) (T, error)

// loop returns the options of the informer's reflector.
func (o InformerOptions[T]) loop() ReflectorOptions {
	return ReflectorOptions{
		Name:         o.Name,
		ListMode:  o.ListMode,
		PageSize:     o.PageSize,
		Backoff:      o.Backoff,
		ErrorHandler: o.ErrorHandler,
		Logger:       o.Logger,
		Clock:        o.Clock,
	}
}

// engine returns the configuration of the informer's engine, its reflector excepted.
func (o InformerOptions[T]) engine(k kind, report *reporter) informer.Config[T] {
	objects := storeConfig(nil, o.indexers(), report.object)
	if o.Packed && k.goType != nil {
		packing := newPacking[T](k, o.Transform != nil)
		objects.Packer, objects.ItemIndexers = packing, packing.onItems(o.MetadataIndexers)
	}
	if o.Transform != nil {
		objects.Decode = transformed(objects.Decode, o.Transform)
	}
	config := informer.Config[T]{
		Name:     report.name,
		Clock:    o.Clock,
		Store:    objects,
		Terminating: func(obj T) bool { return obj.GetDeletionTimestamp() != nil },
	}
	if filter := o.Filter; filter != nil {
		config.Filter = func(obj runtime.Object) bool {
			object, ok := obj.(T)
			return !ok || filter(object) // of another type: the store says so
		}
	}
	return config
}

// indexers returns all indexes.
func (o InformerOptions[T]) indexers() Indexers[T] {
	if len(o.MetadataIndexers) == 0 {
		return o.Indexers
	}
	indexers := make(Indexers[T], len(o.Indexers)+len(o.MetadataIndexers))
	maps.Copy(indexers, o.Indexers)
	for name, index := range o.MetadataIndexers {
		indexers[name] = onObjects[T](index)
	}
	return indexers
}

// checkIndexers returns an error if two indexes have one name.
func (o InformerOptions[T]) checkIndexers() error {
	for name := range o.MetadataIndexers {
		if _, taken := o.Indexers[name]; taken {
			return fmt.Errorf("there are two indexes %q, one in Indexers and one in MetadataIndexers", name)
		}
	}
	return nil
}

// transformed returns a function that decodes an item and transforms its object.
func transformed[T Object](decode func(feed.Item) (T, error), transform TransformFunc[T]) func(feed.Item) (T, error) {
	return func(item feed.Item) (T, error) {
		obj, err := decode(item)
		if err != nil {
			return obj, err
		}
		result, err := transform(obj)
		return result, checkTransformed(item.Key, result, err)
	}
}

// checkTransformed returns an error if a transform's result cannot be stored under the
// object's key.
func checkTransformed[T Object](key string, result T, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("transform: %w", err)
	case isNil(result):
		return errors.New("transform: the result is nil")
	case objectKey(result) != key:
		return fmt.Errorf("transform: the object has become %q; name and namespace must stay", objectKey(result))
	}
	return nil
}
