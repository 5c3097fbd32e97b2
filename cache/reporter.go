package cache

import (
	"context"
	"sync/atomic"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// reporter takes errors to the ErrorHandler, with the context of the Run they
// happened in.
type reporter struct {
	name   string
	handle ErrorHandler
	logger klog.Logger
	ctx    atomic.Pointer[context.Context] // of the latest Run, if any
}

func newReporter(options ReflectorOptions, k kind) *reporter {
	r := &reporter{name: options.Name, handle: options.ErrorHandler, logger: options.Logger}
	if r.name == "" && k.goType != nil {
		r.name = k.String()
	}
	if r.handle == nil {
		now := options.Clock
		if now == nil {
			now = clock.RealClock{}
		}
		r.handle = (&errorLog{clock: now}).handle
	}
	return r
}

// begin returns a Run's context, with the logger to use in it.
func (r *reporter) begin(ctx context.Context) context.Context {
	logger := r.logger
	if logger.GetSink() == nil {
		logger = klog.FromContext(ctx)
	}
	ctx = klog.NewContext(ctx, klog.LoggerWithValues(logger, "informer", r.name))
	r.ctx.Store(&ctx)
	return ctx
}

// attempt reports a failed attempt to list or watch.
func (r *reporter) attempt(ctx context.Context, err error) { r.handle(ctx, err) }

// object reports what went wrong with one object.
func (r *reporter) object(key string, err error) {
	ctx := context.Background()
	if running := r.ctx.Load(); running != nil {
		ctx = *running
	}
	r.handle(ctx, &ObjectError{Key: key, Err: err})
}
