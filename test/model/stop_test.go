package model_test

import (
	"errors"
	"testing/synctest"
	"time"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// stopInformer stops the informer and checks that Run returns in time.
func (x *execution) stopInformer() {
	if x.stopped || !x.running {
		return
	}
	busy := x.busy()
	began := time.Now()
	x.stop()
	x.stopped = true
	err := x.await()
	took := time.Since(began)
	switch {
	case !busy && (err != nil || took > time.Second), took > 11*time.Second && !x.program.Options.Adapter:
		x.fail("stop", "Run returned %v after %v", err, took)
	case err != nil && (!errors.Is(err, cache.ErrHandlerBlocked) || !x.busy()):
		x.fail("stop", "Run returned %v", err)
	}
}

// await returns the error of Run. The adapter waits for handlers without limit, as client-go does.
func (x *execution) await() error {
	for range 20 {
		select {
		case err := <-x.result:
			return err
		case <-time.After(time.Second):
		}
	}
	x.unblock()
	select {
	case err := <-x.result:
		return err
	case <-time.After(time.Hour):
		return errRuns
	}
}

var errRuns = errors.New("Run has not returned")

// unblock ends the calls of handlers that block.
func (x *execution) unblock() {
	for _, r := range x.handlers {
		r.unblock()
	}
}

// busy reports whether a call of a handler has not returned.
func (x *execution) busy() bool {
	for _, r := range x.handlers {
		r.mu.Lock()
		busy := r.busy
		r.mu.Unlock()
		if busy {
			return true
		}
	}
	return false
}

// end stops the informer and checks that nothing follows.
func (x *execution) end() {
	x.stopInformer()
	synctest.Wait()
	requests, calls := len(x.server.requests), x.calls()
	x.stop()
	x.unblock()
	cachetest.Advance(time.Hour)
	x.waits.Wait()
	if more := len(x.server.requests) - requests; more > 0 || x.calls() != calls {
		x.fail("stop", "%d requests and %d calls after Run returned", more, x.calls()-calls)
	}
	x.checkRate()
}

func (x *execution) calls() (n int) {
	for _, r := range x.handlers {
		r.mu.Lock()
		n += r.calls
		r.mu.Unlock()
	}
	return n
}
