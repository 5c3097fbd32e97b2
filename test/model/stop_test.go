// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"errors"
	"testing/synctest"
	"time"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// startRun runs the informer in the background. A second Run is an error.
func (x *execution) startRun(ctx context.Context) {
	if x.running {
		x.runAgain()
		return
	}
	x.running = true
	x.noteStart()
	go func() { x.result <- x.runSubject(ctx) }()
	if x.canceled {
		x.finish(time.Now(), false)
	}
}

// errPanicked is the error of a Run that has panicked as the program's ErrorHandler has.
var errPanicked = errors.New("Run has panicked")

func (x *execution) runSubject(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			if err = errPanicked; !x.server.functions.mayEndRun() {
				x.fail("stop", "Run has panicked: %v", v)
			}
		}
	}()
	return x.subject.Run(ctx)
}

// runAgain checks that a second Run returns at once with an error. The adapter's does nothing.
func (x *execution) runAgain() {
	synctest.Wait()
	x.checked("second run")
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	began := time.Now()
	err := x.subject.Run(ctx)
	isTyped := !x.program.Options.Adapter
	want := cache.ErrAlreadyRunning
	if x.stopped || x.mayHaveEnded() && errors.Is(err, cache.ErrStopped) {
		want = cache.ErrStopped
	}
	if time.Since(began) > 0 || isTyped && !errors.Is(err, want) || !isTyped && err != nil {
		x.fail("second run", "a second Run returned %v after %v, want %v", err, time.Since(began), want)
	}
}

// mayHaveEnded reports whether a function of the program may have ended Run, which perhaps waits
// for a handler.
func (x *execution) mayHaveEnded() bool { return x.server.functions.mayEndRun() }

// stopInformer stops the informer and checks that Run returns in time.
func (x *execution) stopInformer() {
	if x.canceled {
		return
	}
	busy := x.isBusy()
	began := time.Now()
	x.canceled = true
	x.stop()
	if x.running {
		x.finish(began, busy)
	}
}

// isBusy reports whether a function of the program has not returned.
func (x *execution) isBusy() bool { return x.handlerIsBusy() || x.server.functions.isBlocked() }

// finish waits until Run returns and checks the time and the error.
func (x *execution) finish(began time.Time, busy bool) {
	blocked, err := x.await()
	took := time.Since(began)
	x.stopped = true
	x.checked("stop")
	busy = busy || blocked || x.isBusy()
	switch {
	case errors.Is(err, errPanicked), errors.Is(err, feed.ErrGoexit):
		if !x.server.functions.mayEndRun() {
			x.fail("stop", "Run returned %v", err)
		}
	case !busy && (err != nil || took > time.Second), took > 11*time.Second && !x.program.Options.Adapter:
		x.fail("stop", "Run returned %v after %v", err, took)
	case err != nil && !x.isExpected(err):
		x.fail("stop", "Run returned %v", err)
	case err == nil && x.handlerIsBusy():
		x.fail("stop", "Run returned before a handler")
	}
	x.checkWaits()
	x.checkGoroutines()
}

// isExpected reports whether a function of the program blocks, as an error of Run says.
func (x *execution) isExpected(err error) bool {
	switch {
	case errors.Is(err, cache.ErrHandlerBlocked):
		x.meet("Run returns while a handler blocks")
		return x.handlerIsBusy()
	case errors.Is(err, cache.ErrFunctionBlocked):
		x.meet("Run returns while a function blocks")
		return x.server.functions.isBlocked()
	}
	return false
}

// await returns the error of Run, and before it whether a function of the program blocked it. The
// adapter waits for handlers without limit, as client-go does, and the call of one may begin while
// the informer stops.
func (x *execution) await() (blocked bool, err error) {
	for range 25 {
		select {
		case err := <-x.result:
			return false, err
		case <-time.After(time.Second):
		}
	}
	blocked = x.isBusy()
	x.unblock()
	select {
	case err := <-x.result:
		return blocked, err
	case <-time.After(time.Hour):
		return blocked, errRuns
	}
}

var errRuns = errors.New("Run has not returned")

// unblock ends the calls of handlers and other functions that block.
func (x *execution) unblock() {
	for _, r := range x.handlers {
		r.unblock()
	}
	x.server.functions.unblock(true)
}

// handlerIsBusy reports whether a call of a handler has not returned.
func (x *execution) handlerIsBusy() bool {
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
	x.unblock()
	cachetest.Advance(time.Hour)
	x.waits.Wait()
	x.reads.Wait()
	x.checked("stop")
	if more := len(x.server.requests) - requests; more > 0 || x.calls() != calls {
		x.fail("stop", "%d requests and %d calls after Run returned", more, x.calls()-calls)
	}
	x.checkHeld()
	x.checkRate()
	x.checkEvidence()
}

// calls returns the number of calls of all functions of the program.
func (x *execution) calls() int {
	n := x.server.functions.count()
	for _, r := range x.handlers {
		r.mu.Lock()
		n += r.calls
		r.mu.Unlock()
	}
	return n
}
