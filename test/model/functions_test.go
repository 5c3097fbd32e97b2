// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/kinformer/kinformer/cache"
)

// functions are the functions of a program that its informer calls: those of pods_test.go, which a
// state may also let block or end their goroutine, and the ErrorHandler.
type functions struct {
	options options
	note    func(format string, arguments ...any)

	mu       sync.Mutex // guards the fields below
	release  chan struct{}
	open     bool // calls no longer block
	blocked  int  // calls that have not returned
	blocks   int  // calls that have ever blocked
	exits    int  // calls that ended their goroutine
	panicked bool // the ErrorHandler
	reports  int
	calls    int // of all of them
}

func newFunctions(o options, note func(format string, arguments ...any)) *functions {
	return &functions{options: o, note: note, release: make(chan struct{})}
}

// The ends of states that let a function block, or end its goroutine.
const (
	blocks = " blocks"
	exits  = " exits"
)

var (
	blockingStates = []string{badTransform + blocks, badFilter + blocks, badIndex + blocks, badTransform + blocks}
	exitingStates  = []string{badTransform + exits, badFilter + exits, badIndex + exits}
)

// exitsGoroutine reports whether a function ends its goroutine for the state. The store then does
// not show it: Run returns, or the list fails.
func (s state) exitsGoroutine() bool {
	return s.bad == badTransform+exits || s.bad == badFilter+exits || s.bad == badIndex+exits
}

func (f *functions) transform(pod cache.Object) error {
	f.enter(pod, badTransform)
	return transform(pod)
}

func (f *functions) filter(pod cache.Object) bool {
	f.enter(pod, badFilter)
	return filter(pod)
}

func (f *functions) indexNode(pod cache.Object) ([]string, error) {
	f.enter(pod, badIndex)
	return indexNode(pod)
}

// enter blocks or ends the goroutine if the state says so.
func (f *functions) enter(pod cache.Object, function string) {
	f.mu.Lock()
	f.calls++
	f.mu.Unlock()
	switch pod.GetLabels()[badLabel] {
	case function + blocks:
		f.block()
	case function + exits:
		f.exit()
	}
}

// report is the ErrorHandler, or the watch error handler of the adapter.
func (f *functions) report(_ context.Context, err error) {
	f.note("error: %v", err)
	if _, ok := errors.AsType[*cache.HandlerError](err); ok { // a handler's goroutine
		return
	}
	f.mu.Lock()
	f.reports++
	due := f.reports == f.options.ReportAt
	f.panicked = f.panicked || due && f.options.Report == reportPanics
	f.mu.Unlock()
	if !due {
		return
	}
	switch f.options.Report {
	case reportPanics:
		panic(errBad)
	case reportBlocks:
		f.block()
	case reportExits:
		f.exit()
	}
}

func (f *functions) exit() {
	f.mu.Lock()
	f.exits++
	f.mu.Unlock()
	runtime.Goexit()
}

// block blocks until the program releases the functions.
func (f *functions) block() {
	f.mu.Lock()
	release := f.release
	if f.open {
		release = nil
	} else {
		f.blocked++
		f.blocks++
	}
	f.mu.Unlock()
	if release == nil {
		return
	}
	<-release
	f.mu.Lock()
	defer f.mu.Unlock()
	f.blocked--
}

// unblock ends the calls that block. If open is true, no later call blocks.
func (f *functions) unblock(open bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.release)
	f.release = make(chan struct{})
	f.open = f.open || open
}

func (f *functions) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls + f.reports
}

// isBlocked reports whether a call has not returned.
func (f *functions) isBlocked() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.blocked > 0
}

// mayEndRun reports whether a call has panicked or ended its goroutine, which may end Run.
func (f *functions) mayEndRun() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.panicked || f.exits > 0
}
