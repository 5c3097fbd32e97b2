package clientgo

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
)

// watchErrors passes failed lists and watches to the watch error handler.
type watchErrors struct {
	handler   clientcache.WatchErrorHandlerWithContext // client-go's if nil; not changed while the informer runs
	reflector func() *clientcache.Reflector            // the handler's argument
}

// watchErrorGrace is how long an informer that is stopping waits for the watch error handler.
const watchErrorGrace = 10 * time.Second

// report calls the handler and waits for it to return. A handler that blocks does not keep the
// informer from stopping. A panic of the handler is raised in the calling goroutine.
func (w *watchErrors) report(ctx context.Context, err error) {
	err = reflector.UnwrapWatchError(err) // handlers compare with io.EOF
	if w.handler == nil {
		w.log(ctx, err)
		return
	}
	returned := make(chan error, 1)
	go func() {
		defer close(returned) // the handler may end its goroutine
		returned <- w.call(ctx, err)
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

// log is client-go's DefaultWatchErrorHandler without utilruntime.HandleError; see objectLog.
func (w *watchErrors) log(ctx context.Context, err error) {
	r := w.reflector()
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "reflector", r.Name(), "type", r.TypeDescription())
	switch {
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		logger.V(4).Info("Watch closed", "err", err)
	case errors.Is(err, io.EOF): // closed normally
	case errors.Is(err, io.ErrUnexpectedEOF):
		logger.V(1).Info("Watch closed with unexpected EOF", "err", err)
	default:
		logger.Error(err, "Failed to watch")
	}
}

// call calls the handler. It returns nil or a *feed.PanicError.
func (w *watchErrors) call(ctx context.Context, err error) (panicked error) {
	defer feed.RecoverPanic("the watch error handler", &panicked)
	w.handler(ctx, w.reflector(), err)
	return nil
}

// newReflectorFunc returns a function that makes a reflector of client-go on its first call. The
// reflector never runs: watch error handlers receive it and read its name and type description.
func newReflectorFunc(description string) func() *clientcache.Reflector {
	return sync.OnceValue(func() *clientcache.Reflector {
		return clientcache.NewReflectorWithOptions(&clientcache.ListWatch{}, nil, nil, clientcache.ReflectorOptions{
			Name:            "kinformer",
			TypeDescription: description,
		})
	})
}
