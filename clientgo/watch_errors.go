// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/errlog"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
)

// watchErrors passes failed lists, and watch requests that could not be opened, to the watch error
// handler. It logs the other failed attempts.
type watchErrors struct {
	handler   clientcache.WatchErrorHandlerWithContext // client-go's if nil; not changed while the informer runs
	reflector func() *clientcache.Reflector            // the handler's argument
	clock     clock.PassiveClock
}

// watchErrorGrace is how long an informer that is stopping waits for the watch error handler.
const watchErrorGrace = 10 * time.Second

func (w *watchErrors) report(ctx context.Context, err error) {
	shown, forHandler := w.handlerError(err)
	if forHandler && w.handler != nil {
		w.handle(ctx, shown)
		return
	}
	w.log(ctx, errlog.CauseOf(err), shown, forHandler)
}

// handlerError returns the error of an attempt as client-go has it. It reports false for one that
// client-go does not pass to the handler: a refused connection or a 429, after which client-go
// tries to open the watch again, and the end of an open watch.
func (w *watchErrors) handlerError(err error) (_ error, forHandler bool) { //nolint:revive // the error is the result, not a failure
	attempt, ok := errors.AsType[*reflector.AttemptError](err)
	switch {
	case !ok:
		return err, true
	case attempt.Op == reflector.OpList:
		return fmt.Errorf("failed to list %s: %w", w.reflector().TypeDescription(), attempt.Err), true
	case attempt.Op == reflector.OpWatchOpen: // handlers compare with io.EOF
		return attempt.Err, !isBackedOff(attempt.Err)
	default:
		return err, false
	}
}

// isBackedOff reports whether client-go requests a watch again after a backoff.
func isBackedOff(err error) bool {
	return utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)
}

// handle calls the handler and waits for it to return. A handler that blocks does not keep the
// informer from stopping. A panic of the handler is raised in the calling goroutine.
func (w *watchErrors) handle(ctx context.Context, err error) {
	returned := make(chan error, 1)
	go func() {
		var panicked error
		defer func() { returned <- panicked }() // also if the handler ends its goroutine
		defer feed.RecoverPanic("the watch error handler", &panicked)
		w.handler(ctx, w.reflector(), err)
	}()
	select {
	case panicked := <-returned:
		feed.RaisePanic(ctx, panicked)
		return
	case <-ctx.Done():
	}
	grace := clock.RealClock{}.NewTimer(watchErrorGrace)
	defer grace.Stop()
	select {
	case panicked := <-returned:
		feed.RaisePanic(ctx, panicked)
	case <-grace.C():
	}
}

// log logs an error that no handler receives, or counts it if another informer has logged its cause
// lately. forHandler says that client-go's DefaultWatchErrorHandler would receive it: the rest is
// that function without utilruntime.HandleError; see package errlog.
func (w *watchErrors) log(ctx context.Context, cause string, err error, forHandler bool) {
	logger := klog.FromContext(ctx)
	err = feed.CauseFirst(err)
	switch {
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		logger.V(4).Info("Watch closed", "err", err)
		return
	case !forHandler && isBackedOff(err):
		logger.V(2).Info("Watch failed, backing off", "err", err)
		return
	case forHandler && errors.Is(err, io.EOF): // closed normally
		return
	case forHandler && errors.Is(err, io.ErrUnexpectedEOF):
		logger.V(1).Info("Watch closed with unexpected EOF", "err", err)
		return
	}
	informers := errlog.Process.Add(w, cause, w.clock.Now(), func() bool { return true })
	if informers == 0 {
		return
	}
	if informers > 1 {
		logger = klog.LoggerWithValues(logger, "informers", informers)
	}
	if forHandler {
		logger.Error(err, "Failed to watch")
	} else {
		logger.Info("Warning: watch ended with error", "err", err)
	}
}

// end forgets what was logged, before a run returns.
func (w *watchErrors) end() { errlog.Process.Remove(w) }

// newReflectorFunc returns a function that makes a reflector of client-go on its first call. The
// reflector never runs: watch error handlers receive it and read its name and type description.
func newReflectorFunc(name, description string) func() *clientcache.Reflector {
	return sync.OnceValue(func() *clientcache.Reflector {
		return clientcache.NewReflectorWithOptions(&clientcache.ListWatch{}, nil, nil, clientcache.ReflectorOptions{
			Name:            name,
			TypeDescription: description,
		})
	})
}
