// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// CatchPanic calls f and returns its results. If f panics, CatchPanic returns an error that
// describes the panic, and wraps the panic's value if that is an error. Use it to call functions
// supplied by the user.
func CatchPanic[R any](f func() (R, error)) (result R, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error:
			err = fmt.Errorf("panic: %w", r)
		default:
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}

// PanicError reports a panic that was recovered in a goroutine in which the program cannot recover
// it. RaisePanic raises it again.
type PanicError struct {
	Func  string // the function that panicked, such as "List"
	Value any    // passed to panic
	Stack []byte // of the panic
}

// Error names the function.
func (e *PanicError) Error() string { return fmt.Sprintf("%s: panic: %v", e.Func, e.Value) }

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// RecoverPanic must be deferred. It recovers from a panic of the function called name, which it
// returns in *err as a *PanicError.
func RecoverPanic(name string, err *error) {
	if r := recover(); r != nil {
		*err = &PanicError{Func: name, Value: r, Stack: debug.Stack()}
	}
}

// IsPanic reports whether err is a panic.
func IsPanic(err error) bool {
	_, ok := errors.AsType[*PanicError](err)
	return ok
}

// LogPanic logs err if it is a panic. It is for panics of requests that were given up.
func LogPanic(logger klog.Logger, err error) {
	if p, ok := errors.AsType[*PanicError](err); ok {
		logger.Error(nil, "Observed a panic in "+p.Func, "panic", p.Value, "stacktrace", string(p.Stack))
	}
}

// RaisePanic raises the panic that err reports again, in the calling goroutine. Before that it is
// logged with the stack of its own goroutine and passed to utilruntime.PanicHandlers. RaisePanic
// returns if err is no panic, or utilruntime.ReallyCrash is false.
func RaisePanic(ctx context.Context, err error) {
	p, ok := errors.AsType[*PanicError](err)
	if !ok {
		return
	}
	LogPanic(klog.FromContext(ctx), p)
	defer utilruntime.HandleCrashWithContext(ctx)
	panic(p.Value)
}
