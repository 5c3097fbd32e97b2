// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/reflector"
)

// Factory shares one informer among all callers of InformerFor that select the same objects. While
// Run is active, an informer runs from its first use until FactoryOptions.IdleTimeout after its
// last reference was released. All informers of a Factory must read from one cluster. Its methods
// are safe for concurrent use.
type Factory struct {
	idleTimeout time.Duration
	clock       clock.Clock

	mu      sync.Mutex // guards the fields below
	ctx     context.Context
	stopped bool // Run's context has ended
	entries map[informerKey]*factoryEntry
	probes  map[informerKey]*reflector.Probes // by what informers of one resource have in common
	running sync.WaitGroup
	errs    map[informerKey]error // the last error of each informer that failed
}

// FactoryOptions are the options of a Factory. The zero value is right for production.
type FactoryOptions struct {
	// IdleTimeout is how long an informer keeps running without references. Zero selects one
	// minute; with a negative value the informer stops immediately.
	IdleTimeout time.Duration
	// Clock replaces the real clock, for tests.
	Clock clock.Clock
}

// defaultIdleTimeout is longer than a part of a program takes to restart, and short compared with
// what another list costs the server.
const defaultIdleTimeout = time.Minute

// factoryEntry is an informer and its users.
type factoryEntry struct {
	key      informerKey
	informer factoryInformer
	refs     int
	cancel   context.CancelFunc // nil before the informer runs
	reused   chan struct{}      // closed by a new user while the informer is idle; nil while it is used
}

// factoryInformer is a *SharedInformer of any type.
type factoryInformer interface {
	Run(ctx context.Context) error
	HasSynced() bool
	WaitForSync(ctx context.Context) error
	Status() Status
	Views() []View
	HealthCheck(options HealthOptions) func(*http.Request) error
}

// NewFactory returns a Factory without informers.
func NewFactory(options FactoryOptions) *Factory {
	return &Factory{
		idleTimeout: cmp.Or(options.IdleTimeout, defaultIdleTimeout), clock: clockOf(options.Clock),
		entries: make(map[informerKey]*factoryEntry), errs: make(map[informerKey]error),
		probes: make(map[informerKey]*reflector.Probes),
	}
}

// InformerRef is a reference to an informer of a Factory. The caller of InformerFor must call
// Release once it no longer uses the informer. Its methods are safe for concurrent use.
type InformerRef[T Object] struct {
	informer *SharedInformer[T]
	release  func()
}

// Informer returns the shared informer, which may stop after Release. The Factory runs it: the
// caller must not call its Run, nor pass it to RunAll beside the Factory. Release removes no
// handlers: the caller must stop or cancel its own before.
func (r *InformerRef[T]) Informer() *SharedInformer[T] { return r.informer }

// Release gives up the reference. It does not block. Further calls do nothing.
func (r *InformerRef[T]) Release() { r.release() }

// InformerFor returns a reference to the factory's informer of the objects that lw selects, and
// makes the informer on first use. The type of the objects, their kind and resource, and the
// namespace and selectors of lw identify the informer. lw must be made by ListWatchOf,
// ListWatchByNamespace or NewListWatchFromClient. For dynamic and metadata clients, call
// lw.InNamespace and set apiVersion and kind of the example.
//
// While an informer has references, each call must pass the same options: otherwise InformerFor
// returns an error that names the first one that differs. An informer without references is
// replaced if the options differ. For Transform and Filter it compares only whether they are set,
// and for Indexers only the names. ErrorHandler, Logger and Clock are not compared: those of the
// first use apply. InformerFor also returns an error for invalid options, and ErrStopped after the
// factory has stopped.
func InformerFor[T Object](f *Factory, lw *ListWatch, example T, options InformerOptions[T]) (*InformerRef[T], error) {
	key, err := keyOfInformer(lw, example)
	if err != nil {
		return nil, fmt.Errorf("informer of %s: %w", reflect.TypeFor[T](), err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return nil, fmt.Errorf("informer of %s: factory: %w", key, ErrStopped)
	}
	entry := f.entries[key]
	if entry != nil {
		if err := entry.informer.(*SharedInformer[T]).options.sameAs(options); err != nil && entry.refs > 0 {
			return nil, fmt.Errorf("informer of %s: %w", key, err)
		} else if err != nil { // idle, and kept for options that are no longer in use
			f.remove(entry)
			entry = nil
		}
	}
	if entry == nil {
		lw := *lw
		lw.probes = f.probesOf(key)
		made := NewSharedInformer(&lw, example, options)
		if made.core.invalid != nil {
			return nil, made.core.invalid
		}
		entry = f.add(key, made)
	}
	shared := entry.informer.(*SharedInformer[T])
	entry.use()
	return &InformerRef[T]{informer: shared, release: sync.OnceFunc(func() { f.release(entry) })}, nil
}

// add adds an informer, and starts it if the factory runs. mu is held.
func (f *Factory) add(key informerKey, informer factoryInformer) *factoryEntry {
	entry := &factoryEntry{key: key, informer: informer}
	f.entries[key] = entry
	if f.ctx != nil {
		f.start(entry)
	}
	return entry
}

// probesOf returns what the factory's informers of a resource share. mu is held.
func (f *Factory) probesOf(key informerKey) *reflector.Probes {
	resource := informerKey{objects: key.objects, kind: key.kind, resource: key.resource}
	if f.probes[resource] == nil {
		f.probes[resource] = &reflector.Probes{}
	}
	return f.probes[resource]
}

// use counts a user. Factory.mu is held.
func (e *factoryEntry) use() {
	if e.reused != nil {
		close(e.reused)
		e.reused = nil
	}
	e.refs++
}

// Run runs the informers (see Factory for when each starts and stops) until ctx ends. It returns
// once all have stopped, with the joined errors: of each informer, the last one that its Run has
// returned. A factory can run once: a second call returns ErrAlreadyRunning or, after the first has
// returned, ErrStopped.
func (f *Factory) Run(ctx context.Context) error {
	if err := f.begin(ctx); err != nil {
		return fmt.Errorf("factory: %w", err)
	}
	<-ctx.Done()
	f.mu.Lock()
	f.stopped = true
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
	case f.stopped:
		return ErrStopped
	case f.ctx != nil:
		return ErrAlreadyRunning
	}
	f.ctx = ctx
	for _, entry := range f.entries {
		f.start(entry)
	}
	return nil
}

// start runs an entry's informer. mu is held.
func (f *Factory) start(entry *factoryEntry) {
	ctx, cancel := context.WithCancel(f.ctx)
	entry.cancel = cancel
	f.running.Go(func() {
		defer cancel()
		if err := entry.informer.Run(ctx); err != nil {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.errs[entry.key] = err
		}
	})
}

// release discounts a user. After the last one it stops the informer, at once or when it has been
// idle for idleTimeout.
func (f *Factory) release(entry *factoryEntry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if entry.refs--; entry.refs > 0 {
		return
	}
	if entry.cancel == nil || f.idleTimeout < 0 || f.stopped {
		f.remove(entry)
		return
	}
	reused := make(chan struct{})
	entry.reused = reused
	timer := f.clock.NewTimer(f.idleTimeout)
	f.running.Go(func() {
		defer timer.Stop()
		select {
		case <-reused:
		case <-f.ctx.Done():
		case <-timer.C():
			f.expire(entry, reused)
		}
	})
}

// expire removes an entry unless it has been used since it became idle.
func (f *Factory) expire(entry *factoryEntry, reused chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if entry.reused == reused {
		f.remove(entry)
	}
}

// remove stops an entry's informer. The next user gets a new one. mu is held.
func (f *Factory) remove(entry *factoryEntry) {
	if f.entries[entry.key] == entry {
		delete(f.entries, entry.key)
	}
	if entry.cancel != nil {
		entry.cancel()
	}
}

// collect returns the results of a function for each current informer.
func collect[R any](f *Factory, result func(factoryInformer) R) []R {
	f.mu.Lock()
	entries := slices.Collect(maps.Values(f.entries))
	f.mu.Unlock()
	results := make([]R, len(entries))
	for i, entry := range entries {
		results[i] = result(entry.informer)
	}
	return results
}

// HasSynced reports whether SharedInformer.HasSynced of every informer does. It says nothing about
// handlers.
func (f *Factory) HasSynced() bool {
	return !slices.Contains(collect(f, factoryInformer.HasSynced), false)
}

// WaitForSync blocks until every informer that the factory has at the time of the call has synced,
// including those without references. If ctx ends first, it returns the joined errors of
// SharedInformer.WaitForSync; see there why ctx needs a timeout.
func (f *Factory) WaitForSync(ctx context.Context) error {
	return errors.Join(collect(f, func(i factoryInformer) error { return i.WaitForSync(ctx) })...)
}

// Status returns the status of every informer, in no particular order.
func (f *Factory) Status() []Status { return collect(f, factoryInformer.Status) }

// HealthCheck returns a function for a health endpoint that joins the errors of every informer; see
// SharedInformer.HealthCheck.
func (f *Factory) HealthCheck(options HealthOptions) func(*http.Request) error {
	return func(request *http.Request) error {
		return errors.Join(collect(f, func(i factoryInformer) error { return i.HealthCheck(options)(request) })...)
	}
}

// Views returns a view of every informer that the factory has now, including those without
// references.
func (f *Factory) Views() (views []View) {
	views = slices.Concat(collect(f, factoryInformer.Views)...)
	slices.SortFunc(views, byID)
	return views
}

// informerKey identifies an informer of a Factory: the type of its objects and their selection.
type informerKey struct {
	objects                   reflect.Type
	kind, resource, namespace string
	options                   string // of each request: selectors
	labels, fields            string // these selectors, for errors
}

// String describes the key for errors.
func (k informerKey) String() string {
	text := k.objects.String() + k.kind
	if k.namespace != "" {
		text += fmt.Sprintf(" in namespace %q", k.namespace)
	}
	if k.labels != "" {
		text += fmt.Sprintf(", with label selector %q", k.labels)
	}
	if k.fields != "" {
		text += fmt.Sprintf(", with field selector %q", k.fields)
	}
	return text
}

var (
	errUnknownSelection = errors.New("the objects that the ListWatch selects are not known: use ListWatchOf or NewListWatchFromClient")
	errUnknownNamespace = errors.New("the client does not declare its namespace: call InNamespace on the ListWatch")
	errUnknownKind      = errors.New("the kind of the objects is not known: set apiVersion and kind of the example")
)

func keyOfInformer[T Object](lw *ListWatch, example T) (informerKey, error) {
	objects, err := objectsOf(lw, example)
	switch {
	case err != nil:
		return informerKey{}, err
	case !lw.selected.known && lw.items == nil:
		return informerKey{}, errUnknownSelection
	case !lw.selected.known:
		return informerKey{}, errUnknownNamespace
	}
	kind := ""
	if objects.IsUnstructured() || objects.IsMetadata() { // the Go type does not tell collections apart
		var gvk schema.GroupVersionKind
		if !codec.IsNil(example) {
			gvk = example.GetObjectKind().GroupVersionKind()
		}
		if gvk.Empty() && lw.selected.resource == "" {
			return informerKey{}, errUnknownKind
		}
		kind = " of " + gvk.String()
	}
	var options metav1.ListOptions
	lw.selected.apply(context.Background(), &options)
	return informerKey{
		objects: objects.KeptType(), kind: kind, resource: lw.selected.resource, namespace: lw.selected.namespace,
		options: options.String(), labels: options.LabelSelector, fields: options.FieldSelector,
	}, nil
}
