// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kinformer/kinformer/internal/informer"
)

// Delivery selects which events a handler receives if they arrive faster than it returns. In any
// case the handler receives the changes of one object in order, and delays no other handler.
type Delivery string

const (
	// CoalesceWhenBehind, the default, delivers every event until the handler is more than 10,000
	// events behind, or more than twice the number of objects if that is larger. Then the waiting
	// events of one object are coalesced: updates with updates, updates with the deletion, and an
	// addition with updates unless one of them sets deletionTimestamp. Event.Old is always the
	// state that was last delivered. An addition and a deletion are both delivered, and an object
	// that was recreated is never an update of its predecessor. The backlog of a blocked handler is
	// thus bounded by two states of each object that existed meanwhile.
	CoalesceWhenBehind Delivery = "CoalesceWhenBehind"
	// EveryEvent never coalesces events. The backlog is not bounded.
	EveryEvent Delivery = "EveryEvent"
)

// HandlerOptions are the options of a handler. The zero value is right for production.
type HandlerOptions struct {
	// Name identifies the handler in logs, errors and Status. The default is its Go type.
	Name string
	// Delivery selects which events a slow handler receives. The default is CoalesceWhenBehind. For
	// AddKeyHandler, which always coalesces, EveryEvent is an error.
	Delivery Delivery
	// ResyncPeriod is the time from the end of one resync to the start of the next. A resync
	// delivers every stored object as an update in which Old and New are the same, or to a key
	// handler its key. It waits while the handler's events are being coalesced. Zero selects the
	// informer's ResyncPeriod; a negative value disables resyncs.
	ResyncPeriod time.Duration
	// WithoutOld leaves Event.Old nil for updates. Deletions still carry the last known state.
	// With Packed, it saves decoding the old object. A FilteringResourceEventHandler needs the old
	// object: with it, WithoutOld is an error.
	WithoutOld bool
	// ContinueOnPanic goes on with the next event after a panic of the handler. A panic is logged
	// and passed to ErrorHandler as a *HandlerError in any case. Without ContinueOnPanic, it then
	// ends the process unless utilruntime.ReallyCrash is false, as elsewhere in Kubernetes.
	ContinueOnPanic bool
}

// AddEventHandler adds a handler, and does not block. A handler that is added before Run receives
// all events. One that is added while the informer runs first receives an addition of each stored
// object, with InInitialList set, and then every later change. For events that arrive faster than
// the handler returns, see HandlerOptions.Delivery. After the informer has stopped, AddEventHandler
// returns ErrStopped.
func (s *SharedInformer[T]) AddEventHandler(handler EventHandler[T], options HandlerOptions) (*Registration, error) {
	err := checkHandler(handler)
	if _, filters := asFiltering(handler); filters && options.WithoutOld {
		err = errors.Join(err, errFilterNeedsOld)
	}
	return s.addHandler(err, fmt.Sprintf("%T", handler), options, func(config *informer.HandlerConfig[T]) {
		config.OnEvent = func(e informer.Event[T]) { handler.OnEvent(eventOf(&e)) }
	})
}

// AddBatchHandler is AddEventHandler for a function that receives events in batches of up to a few
// dozen, in order. The slice is valid only during the call.
func (s *SharedInformer[T]) AddBatchHandler(handler func(events []Event[T]), options HandlerOptions) (*Registration, error) {
	var err error
	if handler == nil {
		err = errNoHandler
	}
	return s.addHandler(err, fmt.Sprintf("%T", handler), options, func(config *informer.HandlerConfig[T]) {
		var events []Event[T] // reused by the handler's goroutine
		config.OnBatch = func(batch []informer.Event[T]) {
			for i := range batch {
				events = append(events, eventOf(&batch[i]))
			}
			defer func() {
				clear(events)
				events = events[:0]
			}()
			handler(events)
		}
	})
}

// AddKeyHandler is AddEventHandler for a function that receives only the keys of changed objects,
// to add them to a work queue. A key that changes again before it is delivered is delivered once,
// so the backlog is bounded by the number of keys, and no object is decoded. A key that changes
// while the keys of a list are delivered may be delivered a second time.
func (s *SharedInformer[T]) AddKeyHandler(handler func(event KeyEvent), options HandlerOptions) (*Registration, error) {
	var err error
	switch {
	case handler == nil:
		err = errNoHandler
	case options.Delivery == EveryEvent:
		err = errKeysCoalesce
	}
	return s.addHandler(err, fmt.Sprintf("%T", handler), options, func(config *informer.HandlerConfig[T]) {
		config.OnKey = func(event informer.KeyEvent) {
			handler(KeyEvent{Key: event.Key, Reason: KeyReason(event.Reason), LeftScope: event.LeftScope})
		}
	})
}

var (
	errFilterNeedsOld = errors.New("WithoutOld must not be set: a FilteringResourceEventHandler reads the old state")
	errKeysCoalesce   = errors.New("Delivery must not be EveryEvent: keys are always coalesced")
)

// addHandler adds a handler whose function is set by set.
func (s *SharedInformer[T]) addHandler(err error, name string, options HandlerOptions, set func(*informer.HandlerConfig[T])) (*Registration, error) {
	if options.Name != "" {
		name = options.Name
	}
	switch options.Delivery {
	case "", CoalesceWhenBehind, EveryEvent:
	default:
		err = errors.Join(err, fmt.Errorf("unknown Delivery %q: want %q or %q", options.Delivery, CoalesceWhenBehind, EveryEvent))
	}
	switch {
	case s.core.invalid != nil:
		return nil, s.core.invalid
	case err != nil:
		return nil, fmt.Errorf("informer of %s: handler %s: %w", s.core.report.name, name, err)
	}
	config := s.handlerConfig(name, options)
	set(&config)
	added, err := s.engine.Add(config)
	if err != nil {
		return nil, err
	}
	return &Registration{added}, nil
}

func (s *SharedInformer[T]) handlerConfig(name string, options HandlerOptions) informer.HandlerConfig[T] {
	config := informer.HandlerConfig[T]{
		Name:            name,
		Resync:          options.ResyncPeriod,
		Delivery:        informer.Delivery(options.Delivery),
		WithoutOld:      options.WithoutOld,
		ContinueOnPanic: options.ContinueOnPanic,
		OnPanic: func(ctx context.Context, key string, recovered any) {
			s.core.report.handle(ctx, &HandlerError{Handler: name, Key: key, Panic: recovered})
		},
	}
	if config.Resync == 0 {
		config.Resync = s.options.ResyncPeriod
	}
	return config
}

// Registration is a handler that was added to an informer. Its methods are safe for concurrent use.
type Registration struct{ handler registeredHandler }

// registeredHandler is an *informer.Handler of any type.
type registeredHandler interface {
	HasSynced() bool
	Synced() <-chan struct{}
	Done() <-chan struct{}
	Status() informer.HandlerStatus
	Cancel()
	Stop(ctx context.Context) error
}

// HasSynced reports whether the handler's calls have returned for the whole initial list or, if it
// was added later, for the objects that were in the store then.
func (r *Registration) HasSynced() bool { return r.handler.HasSynced() }

// Synced returns a channel that is closed once HasSynced reports true. It stays open if the handler
// is removed or the informer stops before that; see Done.
func (r *Registration) Synced() <-chan struct{} { return r.handler.Synced() }

// Done returns a channel that is closed once no call of the handler is running and none will start:
// after Cancel or Stop, and after the informer has stopped.
func (r *Registration) Done() <-chan struct{} { return r.handler.Done() }

// Status returns the handler's condition.
func (r *Registration) Status() HandlerStatus { return HandlerStatus(r.handler.Status()) }

// Cancel removes the handler, and does not block. A running call goes on, and no other call starts.
// The handler itself may call Cancel. It may be called more than once.
func (r *Registration) Cancel() { r.handler.Cancel() }

// Stop removes the handler and blocks until its running call, if any, has returned. Undelivered
// events are dropped. If ctx ends first, Stop returns ErrHandlerBlocked; no other call starts in
// that case either.
//
// A handler or an ErrorHandler must call Cancel instead: Stop would wait for its own caller until
// ctx ends.
func (r *Registration) Stop(ctx context.Context) error { return r.handler.Stop(ctx) }
