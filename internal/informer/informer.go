package informer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/eventlog"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/store"
)

// Errors of an informer's life.
var (
	// ErrAlreadyRunning is returned by a second Run.
	ErrAlreadyRunning = errors.New("the informer is running already")
	// ErrStopped is returned by Run, by waits and by additions of handlers, once the
	// informer stops: it runs once.
	ErrStopped = errors.New("the informer has stopped")
	// ErrHandlerBlocked is returned by Run when a handler did not return in time
	// after the informer was told to stop, and by Stop of a handler. Its call goes on.
	ErrHandlerBlocked = errors.New("handler still running after it was stopped")
)

const (
	// handlerGrace is how long Run waits for the handlers' last calls.
	handlerGrace = 10 * time.Second
	// minBehind is how many events a handler may be behind, in a small collection,
	// before its changes are joined; in a large one it is twice the objects.
	minBehind = 10_000
	// minRelief is how many events the steward lets gather for a handler that is behind.
	minRelief = 64
)

// Config is what an informer is made of. Reflector.Sink and Store.Log are the
// informer's to set.
type Config[V any] struct {
	Name      string
	Store     store.Config[V]
	Reflector reflector.Config
	Clock     clock.Clock // the real one if nil
	// Accepts, if set, says which objects are stored, by what the server sent: before
	// any transform. One that is not accepted any more is a deletion. The store must
	// have ItemKeys.
	Filter func(runtime.Object) bool
	// Deleting tells whether a value has a deletionTimestamp. Without it none has.
	Terminating func(V) bool
	// Behind is how many events a handler may be behind before its changes are joined.
	// Zero is 10,000 or twice the number of objects, whichever is more.
	CoalesceThreshold uint64
	// HandlerGrace is how long Run waits for the last calls of handlers. Zero is ten
	// seconds, negative for ever.
	HandlerGrace time.Duration

	hand int // of handlers; 32 if zero
}

// Informer keeps a store equal to a collection and tells handlers of changes.
// Its methods may be called from any goroutine.
type Informer[V any] struct {
	name      string
	clock     clock.Clock
	store     *store.Store[V]
	log       *eventlog.Log[store.Change[V]]
	intake    *intake[V]
	reflector *reflector.Reflector
	deleting  func(V) bool
	behind    uint64
	grace     time.Duration
	hand      int

	mu       sync.Mutex // guards what follows
	life     life
	ctx      context.Context          // of Run
	handlers []*Handler[V]            // told of what comes; replaced when it changes
	running  map[*Handler[V]]struct{} // have a goroutine
	stopped  chan struct{}            // closed when Run returns; not guarded
}

// life is how far an informer has come.
type life int

const (
	fresh life = iota
	started
	ending // handlers end, and none is taken any more
	over
)

// New returns an informer that is not running. It does no I/O and owns no
// goroutine.
func New[V any](config Config[V]) *Informer[V] {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.HandlerGrace == 0 {
		config.HandlerGrace = handlerGrace
	}
	if config.hand == 0 {
		config.hand = handSize
	}
	log := eventlog.New[store.Change[V]]()
	config.Store.Log = log
	kept := store.New(config.Store)
	in := &intake[V]{Store: kept, accepts: config.Filter, identity: config.Store.Identity}
	config.Reflector.Sink, config.Reflector.Clock = in, config.Clock
	return &Informer[V]{
		name:      config.Name,
		clock:     config.Clock,
		store:     kept,
		log:       log,
		intake:    in,
		reflector: reflector.New(config.Reflector),
		deleting:  config.Terminating,
		behind:    config.CoalesceThreshold,
		grace:     config.HandlerGrace,
		hand:      config.hand,
		running:   make(map[*Handler[V]]struct{}),
		stopped:   make(chan struct{}),
	}
}

// Store returns the informer's store, which is there before, during and after
// Run.
func (i *Informer[V]) Store() *store.Store[V] { return i.store }

// Run keeps the store and the handlers up to date until ctx ends. It returns nil
// then, after the last call of a handler has returned, or ErrHandlerBlocked.
func (i *Informer[V]) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := i.begin(ctx); err != nil {
		return err
	}
	defer i.finish()
	attended := make(chan struct{})
	go func() {
		defer close(attended)
		i.attend(ctx)
	}()
	err := i.reflector.Run(ctx)
	cancel()
	<-attended
	return errors.Join(err, i.join())
}

// begin starts the handlers that are there.
func (i *Informer[V]) begin(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch i.life {
	case fresh:
	case started:
		return fmt.Errorf("%s: %w", i.name, ErrAlreadyRunning)
	default:
		return fmt.Errorf("%s: %w", i.name, ErrStopped)
	}
	i.life, i.ctx = started, ctx
	for _, h := range i.handlers {
		i.start(h)
	}
	return nil
}

// attend is the steward: it tells handlers when the first state is there, which those
// with nothing to deliver have no other way to know, and reads the log for handlers
// that are behind.
func (i *Informer[V]) attend(ctx context.Context) {
	synced := i.reflector.Synced()
	for {
		select {
		case <-ctx.Done():
			return
		case <-synced:
			synced = nil
			for _, h := range i.current() {
				h.noteSync()
			}
		case <-i.log.Alarm():
			i.relieve()
		}
	}
}

// relieve reads for the handlers that are behind, and sets the alarm for the next time.
func (i *Informer[V]) relieve() {
	threshold, next := i.threshold(), uint64(never)
	// What a stuck handler keeps of the log while it waits for the steward is to be
	// little beside what it keeps anyway: two states of each object.
	every := max(1, min(threshold/8, max(minRelief, uint64(i.store.Len())/8)))
	for _, h := range i.current() {
		next = min(next, h.relieve(threshold, every))
	}
	i.log.AlarmAt(next)
}

// threshold is how many events a handler may be behind.
func (i *Informer[V]) threshold() uint64 {
	if i.behind > 0 {
		return i.behind
	}
	return max(minBehind, 2*uint64(i.store.Len()))
}

// finish ends the informer's life.
func (i *Informer[V]) finish() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.life, i.ctx = over, nil
	close(i.stopped)
}

// join waits for the handlers' last calls.
func (i *Informer[V]) join() error {
	i.mu.Lock()
	i.life = ending
	running := make([]*Handler[V], 0, len(i.running))
	for h := range i.running {
		running = append(running, h)
	}
	i.mu.Unlock()
	var expired <-chan time.Time
	if i.grace > 0 {
		timer := i.clock.NewTimer(i.grace)
		defer timer.Stop()
		expired = timer.C()
	}
	var blocked []error
	late := false
	for _, h := range running {
		if !late {
			select {
			case <-h.done:
			case <-expired:
				late = true
			}
		}
		select {
		case <-h.done:
		default:
			h.release()
			blocked = append(blocked, fmt.Errorf("%w: %s", ErrHandlerBlocked, h.config.Name))
		}
	}
	return errors.Join(blocked...)
}

// Reflector returns the informer's reflector, to ask for its condition.
func (i *Informer[V]) Reflector() *reflector.Reflector { return i.reflector }

// Size returns how many objects the store holds, and how many more wait for a
// state that can be stored.
func (i *Informer[V]) Size() (objects, quarantined int) {
	return i.store.Len(), i.store.Quarantined()
}
