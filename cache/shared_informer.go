package cache

import (
	"context"
	"errors"
	"fmt"

	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/mutation"
)

// SharedInformer keeps a store equal to a collection of the API and tells any number of
// handlers what changes, each at its own pace. Its methods may be called from any
// goroutine, handlers included, and at any time: handlers may be added, and the store
// read, before and while it runs.
type SharedInformer[T Object] struct {
	runner
	engine  *informer.Informer[T]
	store   reader[T]
	options InformerOptions[T]
	scope   scope

	mutations *mutation.Detector // nil unless asked for
}

// NewSharedInformer returns an informer of lw's objects that does not run yet. The
// example says their type, and the kind of unstructured and metadata-only ones
// (apiVersion and kind set; without them, any kind); nothing of it is kept.
//
// Nothing is done before Run. What is wrong with the arguments is returned by Run and by
// everything else that returns an error: a nil lister, a negative ResyncPeriod, a
// ListWatch of another type, an interface as T.
func NewSharedInformer[T Object](lw ListerWatcher, example T, options InformerOptions[T]) *SharedInformer[T] {
	loop := options.loop()
	kind, err := check(lw, example, loop)
	if options.ResyncPeriod < 0 {
		err = errors.Join(err, fmt.Errorf("the resync period %v is negative", options.ResyncPeriod))
	}
	err = errors.Join(err, options.checkIndexers())
	if options.Packed && options.DetectMutations {
		err = errors.Join(err, errPackedMutations)
	}
	report := newReporter(loop, kind)
	if err != nil {
		err = fmt.Errorf("informer of %s: %w", report.name, err)
	}
	kind.shareEqual, kind.packed = options.ShareEqual, options.Packed
	config := options.engine(kind, report)
	detector := options.detector()
	if detector != nil {
		config.Store.Decode = noted(config.Store.Decode, detector)
	}
	source, way := newSource(lw, kind)
	config.Reflector = loopConfig(lw, source, loop, nil, report)
	engine := informer.New(config)
	return &SharedInformer[T]{
		runner:  runner{engine: engine, way: way, report: report, invalid: err},
		engine:  engine,
		store:   reader[T]{engine.Store(), config.Store.Key},
		options: options,
		scope:   scopeOf(lw),

		mutations: detector,
	}
}

// Store returns the informer's store. It is there before, during and after Run.
func (s *SharedInformer[T]) Store() Reader[T] { return &s.store }

// Run keeps the store up to date and the handlers informed until ctx ends. It returns nil
// then, once the last calls of all handlers have returned, or ErrHandlerBlocked if that
// takes longer than ten seconds. It can be run once: ErrAlreadyRunning, ErrStopped.
func (s *SharedInformer[T]) Run(ctx context.Context) error {
	if s.mutations != nil && s.invalid == nil {
		defer s.watchMutations(ctx)()
	}
	return s.run(ctx)
}

// HasSynced tells whether the store holds a first full state of the collection. What the
// handlers know is theirs: see Registration.
func (s *SharedInformer[T]) HasSynced() bool { return s.engine.StoreHasSynced() }

// WaitForSync waits until HasSynced. If that does not happen before ctx ends, or cannot
// happen any more, the error says what stands in the way: Forbidden, say, or an object
// that cannot be decoded.
func (s *SharedInformer[T]) WaitForSync(ctx context.Context) error {
	if s.invalid != nil {
		return s.invalid
	}
	return s.engine.WaitForStoreSync(ctx)
}

// Status returns the informer's condition.
func (s *SharedInformer[T]) Status() Status { return s.status(s.HasSynced()) }
