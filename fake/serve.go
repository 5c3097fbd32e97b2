package fake

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// List answers a list request, with copies. A typed list is the generated list type (PodList for Pods); for a type that client-go's scheme does not
// know it is a metav1.List.
//
// A resourceVersion of "" or "0" means the current state, "0" without pages; another one means not older than that, or exactly that with
// ResourceVersionMatch Exact or with a Limit. 410 if it is forgotten, 504 if it has not been reached.
func (lw *ListerWatcher[T]) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	fault := lw.record("list", opts)
	if err := fault.before(ctx, opts); err != nil {
		return nil, err
	}
	page, err := lw.page(opts, fault.ResourceVersion)
	if err != nil {
		return nil, err
	}
	list, err := lw.newList(page.Items, metav1.ListMeta{
		ResourceVersion:    history.FormatVersion(page.Version),
		Continue:           page.Continue,
		RemainingItemCount: page.Remaining,
	})
	if err != nil || fault.EditList == nil {
		return list, err
	}
	return fault.EditList(list), nil
}

func (lw *ListerWatcher[T]) page(opts metav1.ListOptions, lagging string) (*history.Page, error) {
	if lagging == "" {
		return lw.objects.List("", opts)
	}
	version, err := history.ParseVersion(lagging)
	if err != nil {
		return nil, err
	}
	return lw.objects.ListAt("", opts, version)
}

// Watch opens a watch. It ends when ctx does, at TimeoutSeconds, by Stop, or by a fault.
//
// A resourceVersion of "" or "0" starts with the current objects as ADDED (unless SendInitialEvents is false), another one with the first change after
// it. 410 for a forgotten version and 504 for a WatchList ahead of the server come as an ERROR event on the open watch, as from a real server; a Fault
// can make Watch itself return them. A plain watch ahead of the server is silent until the server has passed it, as there.
func (lw *ListerWatcher[T]) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	fault := lw.record("watch", opts)
	if err := fault.before(ctx, opts); err != nil {
		return nil, err
	}
	cursor, err := lw.objects.Watch("", opts)
	if err != nil && !history.IsStreamError(err) {
		return nil, err
	}
	s := newStream(cursor, fault, lw.forget)
	if err != nil {
		s.finish(err)
	}
	lw.start(ctx, s, opts)
	return s, nil
}

// start makes a stream known and arms what can end it.
func (lw *ListerWatcher[T]) start(ctx context.Context, s *stream, opts metav1.ListOptions) {
	lw.mu.Lock()
	lw.streams = append(lw.streams, s)
	period := lw.bookmarkPeriod
	lw.mu.Unlock()
	if opts.TimeoutSeconds != nil && !s.fault.Stall {
		s.endAfter(time.Duration(*opts.TimeoutSeconds) * time.Second)
	}
	if s.fault.CloseIn > 0 {
		s.endAfter(s.fault.CloseIn)
	}
	if period > 0 {
		s.bookmarkEvery(period)
	}
	s.endWith(ctx)
	s.pump()
}

// record notes a request and returns the fault that awaits it, an empty one if none does.
func (lw *ListerWatcher[T]) record(verb string, opts metav1.ListOptions) Fault {
	lw.mu.Lock()
	defer lw.mu.Unlock()
	lw.requests = append(lw.requests, Request{Verb: verb, Options: *opts.DeepCopy(), Time: time.Now()})
	if verb == "list" {
		return lw.listFaults.take()
	}
	return lw.watchFaults.take()
}

// deliver moves what was written to the watches.
func (lw *ListerWatcher[T]) deliver() {
	for _, s := range lw.open() {
		s.pump()
	}
}

// open returns the open streams; the slice is the caller's.
func (lw *ListerWatcher[T]) open() []*stream {
	lw.mu.Lock()
	defer lw.mu.Unlock()
	return slices.Clone(lw.streams)
}

// forget is called by a stream that has ended.
func (lw *ListerWatcher[T]) forget(s *stream) {
	lw.mu.Lock()
	defer lw.mu.Unlock()
	if i := slices.Index(lw.streams, s); i >= 0 {
		lw.streams = slices.Delete(lw.streams, i, i+1)
	}
}
