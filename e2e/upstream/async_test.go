// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"time"
)

// runAsync calls run in a goroutine. The channel is closed when run has returned.
func runAsync(run func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	return done
}

// stopFunc returns a function that calls cancel and waits until all channels are closed.
func stopFunc(cancel context.CancelFunc, stopped []<-chan struct{}) func() {
	return func() {
		cancel()
		for _, channel := range stopped {
			<-channel
		}
		advance(time.Minute) // the controllers' queues stop at a tick
	}
}

// advance advances the clock of a synctest bubble by d: everything that is due within d happens.
func advance(d time.Duration) { <-time.After(d) }
