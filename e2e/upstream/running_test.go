package upstream

import (
	"context"
	"time"
)

// running returns what is closed when a function that runs from now on has returned.
func running(run func()) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run()
	}()
	return ended
}

// stopping returns a function that ends what runs, and waits until all of it has.
func stopping(cancel context.CancelFunc, ended []<-chan struct{}) func() {
	return func() {
		cancel()
		for _, one := range ended {
			<-one
		}
		pass(time.Minute) // the controllers' queues end on a ticker
	}
}

// pass lets time pass in a bubble of synctest: everything happens that is due within d.
func pass(d time.Duration) { <-time.After(d) }
