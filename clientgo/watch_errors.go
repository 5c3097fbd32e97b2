package clientgo

import (
	"context"
	"sync"
	"time"

	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/reflector"
)

// failures takes errors of lists and watches to the watch error handler.
type failures struct {
	handler clientcache.WatchErrorHandlerWithContext // client-go's if nil; not changed while the informer runs
	of      func() *clientcache.Reflector
}

// failureGrace is how long a watch error handler may go on after the informer was told to
// stop, until it is left alone.
const failureGrace = 10 * time.Second

// tell calls the handler, and waits for it. One of the user's may block for ever: that must
// not keep the informer from stopping.
func (f *failures) tell(ctx context.Context, err error) {
	err = reflector.UnwrapWatchError(err) // handlers compare with io.EOF
	if f.handler == nil {
		clientcache.DefaultWatchErrorHandler(ctx, f.of(), err)
		return
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		f.handler(ctx, f.of(), err)
	}()
	select {
	case <-told:
		return
	case <-ctx.Done():
	}
	grace := clock.RealClock{}.NewTimer(failureGrace)
	defer grace.Stop()
	select {
	case <-told:
	case <-grace.C():
	}
}

// reflectorOf returns a function that makes a reflector of client-go's once it is needed:
// watch error handlers are given one, and read what it is called and watches. It never runs.
func reflectorOf(description string) func() *clientcache.Reflector {
	return sync.OnceValue(func() *clientcache.Reflector {
		return clientcache.NewReflectorWithOptions(&clientcache.ListWatch{}, nil, nil, clientcache.ReflectorOptions{
			Name:            "kinformer",
			TypeDescription: description,
		})
	})
}
