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

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/engine"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/scoped"
	"github.com/kinformer/kinformer/internal/source"
	"github.com/kinformer/kinformer/internal/storewriter"
)

// ReflectorStore is the destination of a Reflector: a Store, an UndeltaStore, or another
// implementation. Its methods are called one at a time.
type ReflectorStore[T Object] interface {
	// Get returns the stored object that has obj's key. The reflector compares the resourceVersions
	// and does not write an older state, or the same state twice.
	Get(obj T) (item T, exists bool, err error)
	Add(obj T) error
	Update(obj T) error
	Delete(obj T) error
	// Replace makes objs, a complete list at resourceVersion, the whole content. If it returns an
	// error, the list has failed and is retried.
	Replace(objs []T, resourceVersion string) error
}

// Limits bound the size of objects and responses, in bytes, against a broken or hostile server.
// Zero, and every negative value, selects the default. If a limit is exceeded, the error names it,
// for instance "Limits.Object", and the store keeps its last good state.
//
// Limits apply while the informer streams (Status.Requests.Streaming), to the decompressed bytes.
// Otherwise the client reads and decodes each response as a whole: client-go limits a watch event
// to 16 MiB, and a list or an error not at all. The number of objects is not limited, and each
// takes at least the size of its Go struct: two million Pods of 80 bytes take 4.6 GB, 2.3 kB each.
type Limits struct {
	// Object is the largest object, and the largest watch event. A larger object is not stored, and
	// is reported as an ObjectError, provided that its name is among the first 64 KiB in protobuf
	// and within the limit in JSON; otherwise the list fails, or the watch ends. The default is
	// 16 MiB, ten times etcd's limit.
	Object int
	// Other is the largest part of a response that is not an object: the metadata of a list with
	// its continue token, a bookmark, an error, or white space. A larger error response is cut off;
	// any other larger part fails the list or ends the watch. The default is 1 MiB.
	Other int
	// InFlight is the total size of the objects of a list that have been read and not stored yet,
	// because they are being decoded in parallel. A single object may exceed it. In addition, a
	// relist keeps up to as many bytes of the eight newest unchanged objects, to compare their
	// contents. The default is 16 MiB.
	InFlight int
	// Decoded is the memory that decoding one object may allocate. It is estimated from the bytes
	// before they are decoded, also for objects that are Packed. An object that would allocate more
	// is not stored, and is reported as an ObjectError. Decoding usually allocates two to ten times
	// the object's bytes, up to a hundred times for objects of many small elements, and about 500
	// times for hostile ones. The default is 512 times the object's bytes, at least 4 MiB and at
	// most 512 MiB: it refuses hostile objects of more than 1 MiB, and smaller ones whose Go type
	// has larger elements than those of the API.
	Decoded int
}

// ReflectorOptions are the options of a Reflector. The zero value is right for production.
// InformerOptions describes the fields.
type ReflectorOptions struct {
	Name         string
	WatchList    bool
	StartAny     bool
	PageSize     int64
	Limits       Limits
	Backoff      wait.Backoff
	ErrorHandler ErrorHandler
	Logger       klog.Logger
	Clock        clock.Clock
}

func (o ReflectorOptions) reporter(objects codec.ObjectType, example Object) *reporter {
	name := cmp.Or(o.Name, objects.Name(example), "objects of an unknown type")
	return newReporter(name, o.ErrorHandler, o.Logger, clockOf(o.Clock))
}

// check returns an error for options that are out of range.
func (o ReflectorOptions) check() error { return reflector.CheckBackoff(o.Backoff) }

func (o ReflectorOptions) collection(lw ListerWatcher, objects codec.ObjectType, report *reporter) engine.Collection {
	var start *reflector.Start // nil: the first list may be of any version
	if !o.StartAny && !isMostRecent(lw) {
		start = reflector.NewStart(asListWatch(lw).probes)
	}
	return engine.Collection{
		Source: sourceConfig(lw, objects),
		Reflector: reflector.Config{
			WatchList: func() bool { return o.WatchList && knowsWatchList(lw) },
			Start:     start,
			PageSize:  o.PageSize,
			Backoff:   o.Backoff,
			Report:    report.handle,
			Recovered: report.recovered,
			Clock:     o.Clock,
		},
		Limits: engine.Limits(o.Limits),
	}
}

// Reflector keeps a store equal to a collection of the API. Its methods are safe for concurrent
// use.
//
// It lists, then watches from the list's resourceVersion. A watch that ends is resumed. Where
// possible, it starts a few changes before the version reached: the server repeats these changes,
// and the reflector compares them (ErrHistoryChanged). If the watch cannot be resumed (410 Gone, or
// events may be missing), the reflector relists. The relist is not older than the version reached.
// If the server does not have that version, the relist is a consistent read (resourceVersion="").
// While requests fail, the store keeps its last good state, and the reflector retries with backoff,
// and not before a Retry-After. See
// https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions for the rules of
// lists, watches and resource versions.
type Reflector[T Object] struct {
	loop    *reflector.Reflector
	sink    *storewriter.Sink[T]
	source  source.Source
	report  *reporter
	clock   clock.PassiveClock
	invalid error // why it cannot run

	running sync.Mutex // held while Run or ListAndWatch runs
}

// NewReflector returns a reflector of lw's objects that writes to store. The example is that of
// NewSharedInformer. Run and ListAndWatch return an error for invalid arguments.
func NewReflector[T Object](lw ListerWatcher, example T, store ReflectorStore[T], options ReflectorOptions) *Reflector[T] {
	objects, err := objectsOf(lw, example)
	err = errors.Join(err, options.check(), checkStore(store))
	r := &Reflector[T]{report: options.reporter(objects, example), clock: clockOf(options.Clock)}
	if err != nil {
		r.invalid = fmt.Errorf("reflector of %s: %w", r.report.name, err)
	}
	r.sink = newStoreSink(store, r.report.object)
	r.loop, r.source = engine.NewReflector(options.collection(lw, objects, r.report), r.sink)
	return r
}

// Run keeps the store up to date until ctx ends, and then returns nil. It returns an error
// immediately if the reflector was made of invalid arguments, and ErrAlreadyRunning if it is
// running. It may be called again after it has returned.
func (r *Reflector[T]) Run(ctx context.Context) error {
	return r.exclusively(ctx, r.loop.Run)
}

// ListAndWatch lists and then watches for as long as the watch can be resumed. It returns the error
// of the list, the reason why the watch cannot be resumed, or ctx's error. Its other errors are
// those of Run. The next call relists, not older than the version that was reached. Run calls it in
// a loop, with backoff.
func (r *Reflector[T]) ListAndWatch(ctx context.Context) error {
	return r.exclusively(ctx, r.loop.ListAndWatch)
}

func (r *Reflector[T]) exclusively(ctx context.Context, run func(context.Context) error) error {
	if r.invalid != nil {
		return r.invalid
	}
	if !r.running.TryLock() {
		return fmt.Errorf("reflector of %s: %w", r.report.name, ErrAlreadyRunning)
	}
	defer r.running.Unlock()
	defer r.report.end()
	return run(r.report.begin(ctx))
}

// LastSyncResourceVersion returns Status().Freshness.ResourceVersion.
func (r *Reflector[T]) LastSyncResourceVersion() string { return r.loop.LastSyncResourceVersion() }

// HasSynced reports whether the initial list has been written to the store.
func (r *Reflector[T]) HasSynced() bool { return scoped.IsClosed(r.loop.Synced()) }

// Status returns the reflector's condition.
func (r *Reflector[T]) Status() Status {
	loop := r.loop.Status()
	if r.invalid != nil {
		loop = reflector.Status{Phase: reflector.Phase(PhaseInvalid), Err: r.invalid}
	}
	status := newStatus(r.report.name, loop, r.source.Status(), r.HasSynced(), r.clock.Now())
	failed := r.sink.Failures()
	status.Store.Quarantined, status.Store.Unnamed = len(failed.Keys), failed.Unnamed
	for _, key := range slices.Sorted(maps.Keys(failed.Keys))[:min(len(failed.Keys), maxQuarantinedKeys)] {
		err := fmt.Errorf("%w: %w", ErrNotStored, failed.Keys[key].Err)
		status.Store.QuarantinedKeys = append(status.Store.QuarantinedKeys, QuarantinedKey{Key: key, Err: err})
	}
	return status
}

// newStoreSink returns the sink that writes to a reflector's store. For an item whose object cannot
// be decoded, it calls Get with an object that has only the item's identity.
func newStoreSink[T Object](store ReflectorStore[T], report func(key string, err error)) *storewriter.Sink[T] {
	get := func(item feed.Item) (T, bool, error) {
		obj, err := codec.Decode[T](item)
		if err != nil {
			var ok bool
			if obj, ok = storewriter.IdentityOnly[T](item, reflect.TypeFor[T]()); !ok {
				return obj, false, nil
			}
		}
		return store.Get(obj)
	}
	return storewriter.New(storewriter.Config[T]{Store: store, Get: get, Compare: true, Report: report})
}

// HealthCheck returns a check for a health endpoint; see SharedInformer.HealthCheck.
func (r *Reflector[T]) HealthCheck(options HealthOptions) func(*http.Request) error {
	return healthCheck(r.Status, r.clock, options)
}

var errNoStore = errors.New("the store is nil")

func checkStore[T Object](store ReflectorStore[T]) error {
	if codec.IsNil(store) {
		return errNoStore
	}
	if checked, ok := store.(interface{ check() error }); ok { // an UndeltaStore, or a store made by NewStore
		return checked.check()
	}
	return nil
}
