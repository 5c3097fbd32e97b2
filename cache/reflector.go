package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
)

// ReflectorStore is what a Reflector pushes into. Store and UndeltaStore are
// such; so is anything of yours with these methods. One goroutine calls them.
type ReflectorStore[T Object] interface {
	// Get returns what is stored under obj's key. The reflector asks in order not
	// to bring an older state, or the same one twice.
	Get(obj T) (item T, exists bool, err error)
	Add(obj T) error
	Update(obj T) error
	Delete(obj T) error
	// Replace brings a complete list, at the list's resourceVersion.
	Replace(objs []T, resourceVersion string) error
}

// InitialSync says how the first state of a collection is got, and each later one
// that is needed as a whole.
type ListMode string

// The ways to get a whole state.
const (
	// InitialSyncAuto is InitialSyncList, which measures better (docs/benchmarks.md).
	ListModeAuto ListMode = ""
	// InitialSyncList lists, then watches from the list's version.
	ListModeList ListMode = "List"
	// InitialSyncWatchList asks for the state by the watch itself (KEP-3157). A
	// server that does not bring it to its end is listed instead, which is
	// reported and remembered.
	ListModeWatchList ListMode = "WatchList"
)

// ReflectorOptions are a Reflector's options. The zero value is what production
// wants.
type ReflectorOptions struct {
	// Name is used in logs and errors. The default names the type.
	Name string
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

// Reflector keeps a store equal to a collection of the API.
//
// It lists, then watches from the list's resourceVersion. A watch that ends is
// resumed where it stood; one that cannot be (410 Gone, or in doubt) leads to a
// relist, first at the last version, and at "" only if the server no longer has
// that. While nothing works the store keeps its last good state and the reflector
// tries again, spaced by its backoff and no sooner than a Retry-After says.
// https://kubernetes.io/docs/reference/using-api/api-concepts/ has the rules of
// lists, watches and versions.
type Reflector[T Object] struct {
	loop    *reflector.Reflector
	report  *reporter
	invalid error // why it cannot run

	running sync.Mutex // held by Run or ListAndWatch
}

// NewReflector returns a reflector of lw's objects into store. The example says
// their type, and the kind of unstructured and metadata-only ones; nothing of it
// is kept. What is wrong with the arguments is returned when it runs.
func NewReflector[T Object](lw ListerWatcher, example T, store ReflectorStore[T], options ReflectorOptions) *Reflector[T] {
	kind, err := check(lw, example, options)
	err = errors.Join(err, checkStore(store))
	r := &Reflector[T]{report: newReporter(options, kind)}
	if err != nil {
		r.invalid = fmt.Errorf("reflector of %s: %w", r.report.name, err)
	}
	source, _ := newSource(lw, kind)
	r.loop = reflector.New(loopConfig(lw, source, options, &storeSink[T]{store: store, report: r.report.object}, r.report))
	return r
}

var errNoStore = errors.New("the store is nil")

// checkStore returns an error if nothing can be pushed into a store.
func checkStore[T Object](store ReflectorStore[T]) error {
	if isNil(store) {
		return errNoStore
	}
	if undelta, ok := store.(*UndeltaStore[T]); ok {
		return undelta.check()
	}
	return nil
}

// check returns the kind of an example, and what is wrong with the arguments of a
// constructor.
func check[T Object](lw ListerWatcher, example T, options ReflectorOptions) (kind, error) {
	k, err := kindOf(example)
	if err == nil {
		err = checkSource(lw, k)
	}
	switch options.ListMode {
	case ListModeAuto, ListModeList, ListModeWatchList:
	default:
		err = errors.Join(err, fmt.Errorf("InitialSync is %q, which is none of %q, %q and %q",
			options.ListMode, ListModeAuto, ListModeList, ListModeWatchList))
	}
	return k, err
}

func loopConfig(lw ListerWatcher, source feed.Source, options ReflectorOptions, sink feed.Sink, report *reporter) reflector.Config {
	return reflector.Config{
		Source:    source,
		Sink:      sink,
		WatchList: options.ListMode == ListModeWatchList && knowsWatchList(lw),
		PageSize:  options.PageSize,
		Backoff:   options.Backoff,
		Report:    report.attempt,
		Clock:     options.Clock,
	}
}

// knowsWatchList tells whether a source does not declare, in client-go's way, that
// it cannot answer a WatchList: its fakes take the request and never end it.
func knowsWatchList(lw ListerWatcher) bool {
	declares, ok := lw.(interface{ IsWatchListSemanticsUnSupported() bool })
	return !ok || !declares.IsWatchListSemanticsUnSupported()
}

// Run keeps the store up to date until ctx ends, and returns nil then. An error
// is returned at once where the reflector was made of something that cannot work,
// or is running already.
func (r *Reflector[T]) Run(ctx context.Context) error {
	return r.exclusively(ctx, r.loop.Run)
}

// ListAndWatch gets the whole state and follows it for as long as watches can be
// resumed; it returns why they cannot be, or ctx's error. Called again, it starts
// from the version it had reached. Run is a loop of it that waits in between.
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
	return run(r.report.begin(ctx))
}

// LastSyncResourceVersion returns the version of the collection that the store
// has reached, empty before the first list.
func (r *Reflector[T]) LastSyncResourceVersion() string { return r.loop.LastSyncResourceVersion() }
