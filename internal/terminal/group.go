// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"context"
	"sync"
)

// group runs goroutines under one context. The first error of a goroutine ends the context.
type group struct {
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	once sync.Once // guards err until stop has waited
	err  error
}

func newGroup(ctx context.Context) *group {
	g := &group{}
	g.ctx, g.cancel = context.WithCancel(ctx)
	return g
}

// start runs f in a goroutine. f must return soon after its context ends.
func (g *group) start(f func(context.Context) error) {
	g.running.Go(func() {
		if err := f(g.ctx); err != nil {
			g.once.Do(func() { g.err = err })
			g.cancel()
		}
	})
}

// stop ends the context, waits for the goroutines and returns the first error.
func (g *group) stop() error {
	g.cancel()
	g.running.Wait()
	return g.err
}
