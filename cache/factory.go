package cache

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

// Factory shares informers between all who want the same: there is one for each resource
// and scope. The first claim on it builds and starts it, the last one released stops it,
// after a while in which nobody came; a later claim begins anew. Its methods may be called
// from any goroutine.
type Factory struct {
	linger time.Duration
	clock  clock.Clock

	mu      sync.Mutex // guards what follows
	ctx     context.Context
	over    bool // Run's context has ended
	slots   map[slotKey]*slot
	running sync.WaitGroup
	errs    map[slotKey]error // of each that failed, the last
}

// FactoryOptions are a Factory's options. The zero value is what production wants.
type FactoryOptions struct {
	// Linger is how long an informer goes on that nobody claims any more. Zero is one
	// minute, negative not at all.
	IdleTimeout time.Duration
	// Clock is the real one if nil.
	Clock clock.Clock
}

// usualLinger is longer than a rolling restart of a part of a program takes, and short
// beside what a list costs the server.
const usualLinger = time.Minute

// Scope is what an informer of a Factory is of.
type InformerKey struct {
	Resource      schema.GroupVersionResource
	Namespace     string // empty: all
	LabelSelector string
	FieldSelector string
}

func (s InformerKey) String() string {
	return fmt.Sprintf("%s in namespace %q, labels %q, fields %q", s.Resource, s.Namespace, s.LabelSelector, s.FieldSelector)
}

// slotKey is which informer it is: typed, dynamic and metadata ones of one scope differ.
type slotKey struct {
	objects reflect.Type
	scope   InformerKey
}

// slot is an informer and how many claim it.
type slot struct {
	key      slotKey
	informer sharedAny
	claims   int
	cancel   context.CancelFunc // nil before it runs
	claimed  chan struct{}      // closed when somebody comes back; nil while claimed
}

// sharedAny is a SharedInformer of any type.
type sharedAny interface {
	Run(ctx context.Context) error
	WaitForSync(ctx context.Context) error
	Status() Status
}

// NewFactory returns a Factory without informers. It starts them in Run.
func NewFactory(options FactoryOptions) *Factory {
	f := &Factory{linger: options.IdleTimeout, clock: options.Clock, slots: make(map[slotKey]*slot), errs: make(map[slotKey]error)}
	if f.linger == 0 {
		f.linger = usualLinger
	}
	if f.clock == nil {
		f.clock = clock.RealClock{}
	}
	return f
}

// Claim is a share in an informer of a Factory. Release it once.
type InformerRef[T Object] struct {
	informer *SharedInformer[T]
	release  func()
}

// Informer returns the shared informer. Handlers that are added to it stay until they are
// stopped: whoever releases a claim stops his own.
func (c *InformerRef[T]) Informer() *SharedInformer[T] { return c.informer }

// Release gives the share back. It may be repeated, and does not wait.
func (c *InformerRef[T]) Release() { c.release() }

// InformerFor claims the informer of a scope. build makes it where there is none, and must
// only construct: it runs under the factory's lock. It is the caller's to make scope and
// informer agree. After Run has ended the error is ErrStopped.
func InformerFor[T Object](f *Factory, scope InformerKey, build func() *SharedInformer[T]) (*InformerRef[T], error) {
	key := slotKey{reflect.TypeFor[T](), scope}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return nil, fmt.Errorf("no informer of %s: the factory: %w", scope, ErrStopped)
	}
	s := f.slots[key]
	if s == nil {
		s = &slot{key: key, informer: build()}
		f.slots[key] = s
		if f.ctx != nil {
			f.start(s)
		}
	}
	if s.claimed != nil {
		close(s.claimed)
		s.claimed = nil
	}
	s.claims++
	return &InformerRef[T]{informer: s.informer.(*SharedInformer[T]), release: sync.OnceFunc(func() { f.release(s) })}, nil
}

// Run runs the informers that are claimed, until ctx ends, and returns once they have. The
// error is theirs, of each scope the last. It can be run once: ErrAlreadyRunning, ErrStopped.
func (f *Factory) Run(ctx context.Context) error {
	if err := f.begin(ctx); err != nil {
		return fmt.Errorf("factory: %w", err)
	}
	<-ctx.Done()
	f.mu.Lock()
	f.over = true
	f.mu.Unlock()
	f.running.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(slices.Collect(maps.Values(f.errs))...)
}

func (f *Factory) begin(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.over:
		return ErrStopped
	case f.ctx != nil:
		return ErrAlreadyRunning
	}
	f.ctx = ctx
	for _, s := range f.slots {
		f.start(s)
	}
	return nil
}

// start runs a slot's informer. mu is held.
func (f *Factory) start(s *slot) {
	ctx, cancel := context.WithCancel(f.ctx)
	s.cancel = cancel
	f.running.Go(func() {
		defer cancel()
		if err := s.informer.Run(ctx); err != nil {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.errs[s.key] = err
		}
	})
}

// release gives one claim back, and lets the informer linger if it was the last.
func (f *Factory) release(s *slot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.claims--; s.claims > 0 {
		return
	}
	if s.cancel == nil || f.linger < 0 || f.over {
		f.drop(s)
		return
	}
	claimed := make(chan struct{})
	s.claimed = claimed
	timer := f.clock.NewTimer(f.linger)
	f.running.Go(func() {
		defer timer.Stop()
		select {
		case <-claimed:
		case <-f.ctx.Done():
		case <-timer.C():
			f.expire(s, claimed)
		}
	})
}

// expire drops a slot unless somebody has come back since it was left.
func (f *Factory) expire(s *slot, claimed chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.claimed == claimed {
		f.drop(s)
	}
}

// drop stops a slot's informer; the next claim makes another. mu is held.
func (f *Factory) drop(s *slot) {
	if f.slots[s.key] == s {
		delete(f.slots, s.key)
	}
	if s.cancel != nil {
		s.cancel()
	}
}

// informers returns what there is now.
func (f *Factory) informers() []sharedAny {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]sharedAny, 0, len(f.slots))
	for _, s := range f.slots {
		all = append(all, s.informer)
	}
	return all
}

// WaitForSync waits until every informer that is claimed now holds a first full state. If
// ctx ends first the error says of each that does not what stands in its way.
func (f *Factory) WaitForSync(ctx context.Context) error {
	var errs []error
	for _, informer := range f.informers() {
		errs = append(errs, informer.WaitForSync(ctx))
	}
	return errors.Join(errs...)
}

// Status returns the condition of every informer that there is, in no order.
func (f *Factory) Status() []Status {
	informers := f.informers()
	conditions := make([]Status, 0, len(informers))
	for _, informer := range informers {
		conditions = append(conditions, informer.Status())
	}
	return conditions
}
