package informer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/eventlog"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/store"
)

// Errors of an informer's life.
var (
	// ErrAlreadyRunning is returned by a second Run.
	ErrAlreadyRunning = errors.New("the informer is running already")
	// ErrStopped is returned by Run, and by waits, once Run has returned: an
	// informer runs once.
	ErrStopped = errors.New("the informer has stopped")
	// ErrHandlerBlocked is returned by Run when a handler did not return in time
	// after the informer was told to stop. Its call goes on.
	ErrHandlerBlocked = errors.New("handler still running after the informer was stopped")
)

// handlerGrace is how long Run waits for a handler's last call.
const handlerGrace = 10 * time.Second

// Config is what an informer is made of. Reflector.Sink and Store.Log are the
// informer's to set.
type Config[V any] struct {
	Name      string
	Store     store.Config[V]
	Reflector reflector.Config
	Clock     clock.Clock // the real one if nil
}

// Informer keeps a store equal to a collection and tells handlers of changes.
// Its methods may be called from any goroutine.
type Informer[V any] struct {
	name      string
	clock     clock.Clock
	store     *store.Store[V]
	reflector *reflector.Reflector
	handlers  []*handler[V] // fixed before Run

	mu      sync.Mutex // guards started
	started bool
	stopped chan struct{} // closed when Run returns
}

// New returns an informer that is not running. It does no I/O and owns no
// goroutine.
func New[V any](config Config[V]) *Informer[V] {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	config.Store.Log = eventlog.New[store.Change[V]]()
	kept := store.New(config.Store)
	config.Reflector.Sink, config.Reflector.Clock = kept, config.Clock
	return &Informer[V]{
		name:      config.Name,
		clock:     config.Clock,
		store:     kept,
		reflector: reflector.New(config.Reflector),
		stopped:   make(chan struct{}),
	}
}

// Store returns the informer's store, which is there before, during and after
// Run.
func (i *Informer[V]) Store() *store.Store[V] { return i.store }

// AddHandler makes the informer tell deliver of every change from the beginning.
// resync is the time between updates of every object to itself; zero is never.
// It must be called before Run.
func (i *Informer[V]) AddHandler(name string, deliver func(Event[V]), resync time.Duration) {
	i.handlers = append(i.handlers, newHandler(name, deliver, i.store, resync, i.clock))
}

// Run keeps the store and the handlers up to date until ctx ends. It returns nil
// then, after the last call of a handler has returned, or ErrHandlerBlocked.
func (i *Informer[V]) Run(ctx context.Context) error {
	if err := i.start(); err != nil {
		return err
	}
	defer close(i.stopped)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, h := range i.handlers {
		go h.run(ctx)
	}
	noted := make(chan struct{})
	go func() {
		defer close(noted)
		i.noteSync(ctx)
	}()
	err := i.reflector.Run(ctx)
	cancel()
	<-noted
	return errors.Join(err, i.join())
}

func (i *Informer[V]) start() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.started {
		select {
		case <-i.stopped:
			return ErrStopped
		default:
			return ErrAlreadyRunning
		}
	}
	i.started = true
	return nil
}

// noteSync tells the handlers when the first state is there: those with nothing
// to deliver have no other way to know.
func (i *Informer[V]) noteSync(ctx context.Context) {
	select {
	case <-i.reflector.Synced():
		for _, h := range i.handlers {
			h.noteSync()
		}
	case <-ctx.Done():
	}
}

// join waits for the handlers' last calls.
func (i *Informer[V]) join() error {
	timer := i.clock.NewTimer(handlerGrace)
	defer timer.Stop()
	for _, h := range i.handlers {
		select {
		case <-h.done:
		case <-timer.C():
			return fmt.Errorf("%w: %s", ErrHandlerBlocked, h.name)
		}
	}
	return nil
}

// HasSynced tells whether the store holds a first full state and every handler
// has been told of all of it.
func (i *Informer[V]) HasSynced() bool {
	if _, ok := i.store.Filled(); !ok {
		return false
	}
	for _, h := range i.handlers {
		select {
		case <-h.synced:
		default:
			return false
		}
	}
	return true
}

// WaitForSync waits until HasSynced. Its error says what kept the informer from
// it: the last error of the reflector, joined with ctx's, or ErrStopped.
func (i *Informer[V]) WaitForSync(ctx context.Context) error {
	if err := i.await(ctx, i.reflector.Synced()); err != nil {
		return err
	}
	for _, h := range i.handlers {
		if err := i.await(ctx, h.synced); err != nil {
			return fmt.Errorf("handler %s: %w", h.name, err)
		}
	}
	return nil
}

func (i *Informer[V]) await(ctx context.Context, event <-chan struct{}) error {
	select {
	case <-event:
		return nil
	default:
	}
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return i.notSynced(context.Cause(ctx))
	case <-i.stopped:
		return i.notSynced(ErrStopped)
	}
}

func (i *Informer[V]) notSynced(why error) error {
	if err := i.reflector.Status().Err; err != nil {
		return fmt.Errorf("%s has not synced: %w; last error: %w", i.name, why, err)
	}
	return fmt.Errorf("%s has not synced: %w", i.name, why)
}

// Reflector returns the informer's reflector, to ask for its condition.
func (i *Informer[V]) Reflector() *reflector.Reflector { return i.reflector }

// HandlerStatus is the condition of one handler.
type HandlerStatus struct {
	Name   string
	Synced bool   // it has been told of the whole first state
	Lag    uint64 // events that it has not been told yet
}

// Handlers returns the condition of each handler.
func (i *Informer[V]) Handlers() []HandlerStatus {
	conditions := make([]HandlerStatus, 0, len(i.handlers))
	for _, h := range i.handlers {
		conditions = append(conditions, h.status())
	}
	return conditions
}

// Size returns how many objects the store holds, and how many more wait for a
// state that can be stored.
func (i *Informer[V]) Size() (objects, quarantined int) {
	return i.store.Len(), i.store.Quarantined()
}
