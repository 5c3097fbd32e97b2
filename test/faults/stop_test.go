package faults_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// Wherever the informer is when its context ends, Run returns at once, without
// another request, call or report; inBubble checks it, and that nothing leaks (C1, T7,
// I12).
func TestStopAtEveryStage(t *testing.T) {
	after := func(d time.Duration) func(r *cachetest.Harness) {
		return func(*cachetest.Harness) { cachetest.Advance(d) }
	}
	for name, c := range map[string]struct {
		before, at func(r *cachetest.Harness)
	}{
		"before the first answer": {func(r *cachetest.Harness) { r.InjectListFault(1, fake.Fault{Delay: time.Minute}) }, after(time.Second)},
		"between pages": {func(r *cachetest.Harness) {
			r.InjectListFault(1, fake.Fault{})
			r.InjectListFault(1, fake.Fault{Delay: time.Minute})
		}, after(time.Second)},
		"while the watch is opened":    {func(r *cachetest.Harness) { r.InjectWatchFault(1, fake.Fault{Delay: time.Minute}) }, after(time.Second)},
		"while watching":               {nil, after(time.Second)},
		"on a silent connection":       {func(r *cachetest.Harness) { r.InjectWatchFault(1, fake.Fault{Stall: true}) }, after(time.Minute)},
		"in the backoff of a list":     {func(r *cachetest.Harness) { r.InjectListFault(-1, fake.Fault{Err: fake.InternalError()}) }, after(time.Minute)},
		"in the backoff of a watch":    {func(r *cachetest.Harness) { r.InjectWatchFault(-1, fake.Fault{Err: fake.InternalError()}) }, after(time.Minute)},
		"in a Retry-After":             {func(r *cachetest.Harness) { r.InjectWatchFault(-1, fake.Fault{Err: fake.TooManyRequests(200)}) }, after(time.Minute)},
		"after a watch closed":         {func(r *cachetest.Harness) { r.InjectWatchFault(-1, fake.Fault{CloseAfterEvents: -1}) }, after(time.Second)},
		"after a watch of one event":   {func(r *cachetest.Harness) { r.InjectWatchFault(-1, fake.Fault{CloseAfterEvents: 1}) }, func(r *cachetest.Harness) { r.Update(cachetest.Pod("a")); cachetest.Advance(time.Second) }},
		"after a watch of two seconds": {func(r *cachetest.Harness) { r.InjectWatchFault(-1, fake.Fault{CloseIn: 2 * time.Second}) }, after(3 * time.Second)},
		"while relisting": {nil, func(r *cachetest.Harness) {
			r.InjectListFault(1, fake.Fault{Delay: time.Minute})
			r.Send(fake.ErrorEvent(fake.Expired()))
			cachetest.Advance(3 * time.Second)
		}},
		"while probing": {nil, func(r *cachetest.Harness) {
			r.CloseWatches()
			r.InjectListFault(1, fake.Fault{Delay: time.Hour})
			cachetest.Advance(4 * time.Minute)
		}},
		"while probing between watches": {func(r *cachetest.Harness) { r.InjectWatchFault(-1, fake.Fault{CloseIn: 30 * time.Second}) }, func(r *cachetest.Harness) {
			r.InjectListFault(1, fake.Fault{Delay: time.Hour})
			cachetest.Advance(2*time.Minute + 15*time.Second)
		}},
	} {
		for _, how := range []cache.ListMode{cache.ListModeList, cache.ListModeWatchList} {
			t.Run(fmt.Sprintf("%s, by %s", name, how), func(t *testing.T) {
				before := c.before
				if before == nil {
					before = func(*cachetest.Harness) {}
				}
				cachetest.InBubbleWithOptions(t, cache.ReflectorOptions{ListMode: how, PageSize: 2}, c.at, before)
			})
		}
	}
}

// A context that has ended already makes no request.
func TestRunWithAnEndedContext(t *testing.T) {
	lw := fake.NewListerWatcher(&corev1.Pod{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, controller := cache.NewInformer(lw, &corev1.Pod{}, 0, cache.ResourceEventHandlerFuncs[*corev1.Pod]{})
	if err := controller.Run(ctx); err != nil || len(lw.Requests()) > 0 {
		t.Errorf("Run: %v, requests %v", err, lw.Requests())
	}
	if err := controller.Run(t.Context()); !errors.Is(err, cache.ErrStopped) {
		t.Errorf("second Run: %v", err)
	}
	reflector := cache.NewReflector(lw, &corev1.Pod{}, cache.NewStore[*corev1.Pod](nil, nil), cache.ReflectorOptions{})
	if err := reflector.ListAndWatch(ctx); !errors.Is(err, context.Canceled) || len(lw.Requests()) > 0 {
		t.Errorf("ListAndWatch: %v, requests %v", err, lw.Requests())
	}
}

// deaf is a source whose functions never heed their context.
type deaf struct {
	*cachetest.Harness
	list, watch chan struct{}
	late        atomic.Int32 // watches stopped that came too late
}

func (d *deaf) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	<-d.list
	return d.Harness.List(context.Background(), options)
}

func (d *deaf) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	<-d.watch
	w, err := d.Harness.Watch(context.Background(), options)
	return stopCounter{w, &d.late}, err
}

type stopCounter struct {
	watch.Interface
	stops *atomic.Int32
}

func (s stopCounter) Stop() {
	s.stops.Add(1)
	s.Interface.Stop()
}

// A list or watch function that blocks for ever does not keep Run from returning
// (consumers 13), and a watch that comes too late is stopped.
func TestFunctionsThatIgnoreTheirContext(t *testing.T) {
	for _, stuck := range []string{"list", "watch"} {
		t.Run(stuck, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := cachetest.New(t)
				source := &deaf{Harness: r, list: make(chan struct{}), watch: make(chan struct{})}
				r.Source = source
				if stuck == "watch" {
					close(source.list)
				}
				r.Run(cache.ReflectorOptions{})
				cachetest.Advance(time.Second)
				began := time.Now()
				r.Stop()
				if err := <-r.Stopped(); err != nil || time.Since(began) > time.Second {
					t.Errorf("Run returned %v after %v", err, time.Since(began))
				}
				if stuck == "list" {
					close(source.list)
					synctest.Wait()
					return
				}
				close(source.watch)
				synctest.Wait()
				if source.late.Load() != 1 || r.OpenWatches() != 0 {
					t.Errorf("%d late watches stopped, %d open", source.late.Load(), r.OpenWatches())
				}
			})
		})
	}
}

// One that is stuck is given up after its deadline, too.
func TestListThatIsStuckForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		source := &deaf{Harness: r, list: make(chan struct{}), watch: make(chan struct{})}
		r.Source = source
		r.Run(cache.ReflectorOptions{})
		cachetest.Advance(7 * time.Minute)
		r.ExpectError(cachetest.ErrorIs(cache.ErrStalled))
		close(source.list)
		close(source.watch)
		cachetest.Advance(time.Minute)
		r.ExpectSynced()
		r.CheckStop()
	})
}
