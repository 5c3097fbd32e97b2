// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package footprint measures what an informer costs the process that runs it: heap, peak memory,
// and CPU until it has synced. The process should run nothing else.
package footprint

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/kinformer/kinformer/internal/testing/process"
)

// Informer is an informer to measure, with a handler and an index by namespace, as a program would
// use it.
type Informer struct {
	// Keys returns the keys of the store.
	Keys func() []string
	// Get returns the object of a key.
	Get func(key string) any

	run     func(context.Context) error
	synced  func() bool
	failure func() error // of several attempts in a row
	added   atomic.Int64 // additions that the handler has received
	stop    func()
	stopped chan struct{}
}

// Cost is what an informer costs.
type Cost struct {
	Objects int
	Heap    float64 // bytes, after garbage collection, above those before the sync
	PeakRSS float64 // bytes, until synced; zero if the system does not say
	IdleRSS float64 // bytes, before the sync
	CPU     float64 // seconds, until synced
	Time    float64 // seconds, until synced

	heapBefore float64
}

// Sync runs the informer until its handler has received all objects. It measures everything but the
// heap; see MeasureHeap.
func (inf *Informer) Sync(ctx context.Context) (cost Cost, err error) {
	debug.FreeOSMemory()
	cost.heapBefore = process.LiveHeap()
	if cost.IdleRSS, _, err = process.Memory(); err != nil {
		return cost, err
	}
	began, cpu := time.Now(), process.CPU()
	ctx = inf.start(ctx)
	if err := inf.waitForSync(ctx); err != nil {
		return cost, fmt.Errorf("initial sync: %w", err)
	}
	cost.Objects = len(inf.Keys())
	if err := Poll(ctx, func() bool { return int(inf.added.Load()) >= cost.Objects }); err != nil {
		return cost, fmt.Errorf("handler: %w after %d of %d objects", err, inf.added.Load(), cost.Objects)
	}
	cost.CPU, cost.Time = (process.CPU() - cpu).Seconds(), time.Since(began).Seconds()
	_, cost.PeakRSS, err = process.Memory()
	return cost, err
}

// maxAttempts is how many failures of an informer in a row are the result. An informer would go on.
const maxAttempts = 3

// waitForSync waits until the informer has synced or fails.
func (inf *Informer) waitForSync(ctx context.Context) error {
	var failure error
	err := Poll(ctx, func() bool {
		failure = inf.failure()
		return failure != nil || inf.synced()
	})
	return errors.Join(err, failure)
}

// MeasureHeap sets Heap. It collects the garbage of the sync.
func (c *Cost) MeasureHeap() { c.Heap = process.LiveHeap() - c.heapBefore }

// start runs the informer and returns a context that ends with it.
func (inf *Informer) start(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	inf.stop = func() { cancel(nil) }
	inf.stopped = make(chan struct{})
	go func() {
		defer close(inf.stopped)
		cancel(inf.run(ctx))
	}()
	return ctx
}

// Stop ends the informer, which Sync has started, and waits for its end.
func (inf *Informer) Stop() {
	inf.stop()
	<-inf.stopped
}

// Poll waits until a condition holds. It checks often, but not so often that it affects the CPU
// time that is measured.
func Poll(ctx context.Context, condition func() bool) error {
	return PollEvery(ctx, 2*time.Millisecond, condition)
}

// PollEvery waits until a condition holds, which it checks once a period.
func PollEvery(ctx context.Context, period time.Duration, condition func() bool) error {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
	return nil
}
