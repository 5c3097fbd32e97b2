// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/errlog"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
)

// reporter passes errors to the ErrorHandler, with the context of the Run they happened in.
type reporter struct {
	name    string
	handle  ErrorHandler
	log     *errorLog // nil if the program's ErrorHandler replaces it
	logger  klog.Logger
	running atomic.Pointer[context.Context] // of the latest Run, if any
}

// newReporter returns a reporter. A nil handler stands for the default.
func newReporter(name string, handler ErrorHandler, logger klog.Logger, c clock.PassiveClock) *reporter {
	r := &reporter{name: name, handle: handler, logger: logger}
	if handler == nil {
		r.log = newErrorLog(c)
		r.handle = r.log.handle
	}
	return r
}

// begin returns the context of a Run, with a logger that names the informer.
func (r *reporter) begin(ctx context.Context) context.Context {
	ctx = klog.NewContext(ctx, r.named(ctx))
	r.running.Store(&ctx)
	return ctx
}

// end logs the numbers of errors that are still to be logged, before Run returns.
func (r *reporter) end() {
	if r.log != nil {
		errlog.Process.Remove(r.log)
		r.log.objects.Flush()
	}
}

// named returns the logger to use with ctx, which names the informer.
func (r *reporter) named(ctx context.Context) klog.Logger {
	logger := r.logger
	if logger.GetSink() == nil {
		logger = klog.FromContext(ctx)
	}
	return klog.LoggerWithValues(logger, "informer", r.name)
}

// recovered logs that an attempt succeeded after failed ones, if one of these was logged since the
// last recovery.
func (r *reporter) recovered(ctx context.Context, after time.Duration, attempts int) {
	if r.log != nil && r.log.requests.Recovered(r.log.clock.Now()) {
		klog.FromContext(ctx).Info("Recovered, lists and watches succeed again", "after", after, "failedAttempts", attempts)
	}
}

func (r *reporter) object(key string, err error) {
	ctx := context.Background()
	if running := r.running.Load(); running != nil {
		ctx = *running
	}
	r.handle(ctx, newObjectError(key, err))
}

func newObjectError(key string, err error) *ObjectError {
	effect, cause := feed.EffectOf(err)
	return &ObjectError{Key: key, Effect: ObjectEffect(effect), Err: cause}
}

// errorLog is the default ErrorHandler of one informer. It logs an error, and the same error again
// only after five minutes. If several informers have the error, one of them logs it, each minute.
type errorLog struct {
	clock    clock.PassiveClock
	requests errlog.Requests
	objects  *errlog.Objects
}

func newErrorLog(c clock.PassiveClock) *errorLog {
	return &errorLog{clock: c, objects: errlog.NewObjects(c, true)}
}

func (l *errorLog) handle(ctx context.Context, err error) {
	if _, ok := errors.AsType[*HandlerError](err); ok { // logged with its stack where it was recovered
		return
	}
	logger := klog.FromContext(ctx)
	if object, ok := errors.AsType[*ObjectError](err); ok {
		l.objects.Log(logger, object.Key, feed.Effect(object.Effect), object.Err)
		return
	}
	if isExpiredWatch(err) {
		logger.V(2).Info("Relisting, the server no longer has the resourceVersion of the watch", "err", err)
		return
	}
	attempt, ofRequest := errors.AsType[*reflector.AttemptError](err)
	informers := l.add(err, ofRequest)
	if informers == 0 {
		return
	}
	if informers > 1 {
		logger = klog.LoggerWithValues(logger, "informers", informers)
	}
	logger.Error(err, message(err))
	if ofRequest && attempt.Op != reflector.OpRelist {
		l.requests.Failed()
	}
}

// add returns the number of informers that have an error if it must be logged now, and otherwise 0.
// Only errors of requests are those of several informers.
func (l *errorLog) add(err error, ofRequest bool) (informers int) {
	cause, now := errlog.CauseOf(err), l.clock.Now()
	isNew := func() bool { return l.requests.IsNew(cause, now) }
	if ofRequest {
		return errlog.Process.Add(l, cause, now, isNew)
	}
	if !isNew() {
		return 0
	}
	return 1
}

// isExpiredWatch reports whether a watch ended, or was refused, because the server keeps a few
// minutes of changes only. That is no failure.
func isExpiredWatch(err error) bool {
	attempt, ok := errors.AsType[*reflector.AttemptError](err)
	return ok && (attempt.Op == reflector.OpWatch || attempt.Op == reflector.OpWatchOpen) &&
		(apierrors.IsResourceExpired(err) || apierrors.IsGone(err))
}

func message(err error) string {
	if errors.Is(err, ErrMutated) {
		return "Cached object was modified"
	}
	attempt, ok := errors.AsType[*reflector.AttemptError](err)
	if !ok {
		return "Informer error"
	}
	switch attempt.Op {
	case reflector.OpList:
		return "Failed to list, will retry"
	case reflector.OpWatchList:
		return "Failed to get the initial state by WatchList"
	case reflector.OpWatchOpen:
		return "Failed to open a watch, will retry"
	case reflector.OpRelist:
		return "Relisting"
	default:
		return "Watch ended with an error, will retry"
	}
}
