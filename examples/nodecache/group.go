package main

import (
	"context"
	"sync"
)

// work is the goroutines of one run. The first error of any ends all.
type work struct {
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	once sync.Once // guards err until stop has waited
	err  error
}

func startWork(ctx context.Context) *work {
	w := &work{}
	w.ctx, w.cancel = context.WithCancel(ctx)
	return w
}

// start runs a function until it returns; it must, soon after its context ends.
func (w *work) start(f func(context.Context) error) {
	w.running.Go(func() {
		if err := f(w.ctx); err != nil {
			w.once.Do(func() { w.err = err })
			w.cancel()
		}
	})
}

// stop ends the goroutines, waits for them and returns the first error.
func (w *work) stop() error {
	w.cancel()
	w.running.Wait()
	return w.err
}
