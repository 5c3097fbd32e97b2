// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
)

// result is what a function of a ListerWatcher returned.
type result[R any] struct {
	value R
	err   error
}

// await calls f, which is called name, and returns its result, or ctx's error as soon as ctx ends,
// so that a function that ignores its context does not keep the informer from stopping. discard, if
// not nil, receives a value that comes after that. A panic of f is a *feed.PanicError.
func await[R any](ctx context.Context, name string, f func() (R, error), discard func(R) error) (R, error) {
	results, abandoned := make(chan result[R]), make(chan struct{})
	go func() {
		r := result[R]{err: fmt.Errorf("%s ended its goroutine, by runtime.Goexit", name)}
		defer func() {
			select {
			case results <- r:
			case <-abandoned:
				feed.LogPanic(klog.FromContext(ctx), r.err)
				if r.err == nil && discard != nil {
					feed.LogPanic(klog.FromContext(ctx), discard(r.value))
				}
			}
		}()
		r.value, r.err = guarded(name, f)
	}()
	select {
	case r := <-results:
		return r.value, r.err
	case <-ctx.Done():
		close(abandoned)
		var none R
		return none, ctx.Err()
	}
}

// guarded calls f, which is called name. A panic of f is a *feed.PanicError.
func guarded[R any](name string, f func() (R, error)) (value R, err error) {
	defer feed.RecoverPanic(name, &err)
	return f()
}

var errNilWatch = errors.New("the watch is nil")

// resultChan returns the channel of a stream, or a *feed.PanicError.
func resultChan(stream watch.Interface) (<-chan watch.Event, error) {
	return guarded("ResultChan", func() (<-chan watch.Event, error) { return stream.ResultChan(), nil })
}

// stopWatch stops a stream and reads its remaining events: some producers block on an unread event.
// Another goroutine reads them, unless ctx has ended: it would outlast the informer, so stopWatch
// reads itself, for lastTimeout at most. It does not for a watch.ProxyWatcher, whose channel is
// never closed and whose producer has a StopChan. It returns nil or a *feed.PanicError.
func stopWatch(ctx context.Context, stream watch.Interface) error {
	if codec.IsNil(stream) {
		return nil
	}
	_, err := guarded("Stop", func() (any, error) { stream.Stop(); return nil, nil })
	if err != nil {
		return err
	}
	results, err := resultChan(stream)
	if err != nil {
		return err
	}
	if ctx.Err() == nil {
		go readRest(results)
		return nil
	}
	if _, proxy := stream.(*watch.ProxyWatcher); proxy {
		return nil
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTimeout)
	defer cancel()
	return drain(last, stream)
}

// lastTimeout is how long the events of the last stream are read after it was stopped.
const lastTimeout = 500 * time.Millisecond

// restTimeout is how long the next event of a stopped stream is waited for. Some streams never
// close their channel, such as watch.ProxyWatcher, or have none.
const restTimeout = time.Second

// readRest reads the events of a stopped stream until its channel is closed, or none has come for
// restTimeout.
func readRest(results <-chan watch.Event) {
	timer := clock.RealClock{}.NewTimer(restTimeout)
	defer timer.Stop()
	for {
		select {
		case _, ok := <-results:
			if !ok {
				return
			}
			timer.Reset(restTimeout)
		case <-timer.C():
			return
		}
	}
}
