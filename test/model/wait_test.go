// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"errors"
	"runtime"
	"testing/synctest"
	"time"

	"github.com/kinformer/kinformer/cache"
)

// waitLimit is the deadline of waits.
const waitLimit = 30 * time.Second

// inBackground calls wait, which waits for the informer, and then check with its error.
func (x *execution) inBackground(wait func(context.Context) error, check func(error)) {
	x.countWaiting(1)
	x.waits.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
		defer cancel()
		err := func() error {
			defer x.countWaiting(-1) // also if a filter ends the goroutine
			return wait(ctx)
		}()
		check(err)
	})
}

func (x *execution) countWaiting(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waiting += n
}

// waitForWrite waits in the background until the store has seen the last write.
func (x *execution) waitForWrite() {
	log := x.server.world.present().log
	if len(log) == 0 || x.server.world.ceiling != 0 || x.isDoubtful() { // versions mean nothing before a restore is noticed
		return
	}
	last, restores := log[len(log)-1], len(x.server.world.epochs)
	wait := x.subject.waitFor
	if last.deleted {
		wait = x.subject.waitForDelete
	}
	x.inBackground(func(ctx context.Context) error {
		x.writeWaits.Add(1)
		defer x.writeWaits.Add(-1)
		return wait(ctx, podOf(last))
	}, func(err error) {
		if x.program.Options.Adapter {
			<-time.After(time.Nanosecond) // its LastSyncResourceVersion follows the store
		}
		x.server.mu.Lock()
		defer x.server.mu.Unlock()
		version := parseVersion(x.subject.view().version)
		x.checked("wait")
		x.note("waited for %v: %v, at %d", last, err, version)
		switch {
		case restores != len(x.server.world.epochs):
		case err == nil && version < last.version && !(last.deleted && x.mayBeCleared()):
			x.fail("wait", "the wait for %v returned at %d", last, version)
		case errors.Is(err, cache.ErrNotServed) && x.server.availability.absences == 0 && !x.program.Options.Pending:
			x.fail("wait", "the wait for %v returned %v", last, err)
		case errors.Is(err, cache.ErrNotStored) && !x.server.world.hasKept(last):
			x.fail("wait", "the wait for %v returned %v", last, err)
		}
	})
}

// waitForSync waits in the background until the informer has synced.
func (x *execution) waitForSync() {
	subject, ok := x.subject.(interface {
		WaitForSync(ctx context.Context) error
	})
	if !ok {
		return
	}
	x.inBackground(subject.WaitForSync, func(err error) {
		x.checked("wait")
		if version := x.subject.view().version; err == nil && version == "" {
			x.fail("wait", "the wait for the sync returned before a list")
		}
	})
}

// checkWaits checks that no wait goes on after the informer has stopped.
func (x *execution) checkWaits() {
	synctest.Wait()
	x.checked("wait")
	x.mu.Lock()
	waiting := x.waiting
	x.mu.Unlock()
	if waiting > 0 && !x.server.functions.isBlocked() {
		x.fail("wait", "%d waits go on after the informer has stopped", waiting)
	}
}

// read reads n times while other goroutines work.
func (x *execution) read(n int) {
	x.reads.Go(func() {
		for range n {
			if x.program.Options.Adapter {
				x.checkList()
			} else {
				x.checkSnapshot()
			}
			runtime.Gosched()
		}
	})
}

// checkList checks the objects of an adapter's list, whose version is not known.
func (x *execution) checkList() {
	x.checked("snapshot")
	v := x.subject.view()
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	for _, pod := range v.pods {
		if err := intact(pod, x.program.Options); err != nil || !x.server.world.knows(stateOf(pod)) {
			x.fail("snapshot", "the store holds %v, on the server: %v; %v", stateOf(pod), x.server.world.knows(stateOf(pod)), err)
		}
	}
}

// heldView is a snapshot that the program keeps.
type heldView struct {
	read func() view
	want string
}

// maxHeld bounds the snapshots that a program keeps.
const maxHeld = 4

// hold keeps a snapshot, or the objects of an adapter.
func (x *execution) hold() {
	if len(x.held) == maxHeld {
		return
	}
	v := x.subject.view()
	held := heldView{read: func() view { return v }}
	if subject, ok := x.subject.(interface{ snapshot() func() view }); ok {
		held.read = subject.snapshot()
	}
	held.want = describeView(held.read(), x.program.Options)
	x.held = append(x.held, held)
}

// checkHeld checks that the snapshots that the program keeps have not changed.
func (x *execution) checkHeld() {
	for _, held := range x.held {
		x.checked("held snapshot")
		if got := describeView(held.read(), x.program.Options); got != held.want {
			x.fail("held snapshot", "%s has become %s", held.want, got)
		}
	}
}

// healing is how long it takes the informer at most to become equal to the server: it may have to
// give up a silent watch first. confirming is how much longer it takes if the server was restored
// and has answered 410 for the overlap: at most once in 30 minutes, the informer then lists within
// 5.
const (
	healing    = 16 * time.Minute
	confirming = 36 * time.Minute
)

// patienceForHealing returns how long the informer may take to become equal to the server.
func (x *execution) patienceForHealing() time.Duration {
	if x.rollback.since.IsZero() {
		return healing
	}
	return healing + confirming
}

func (x *execution) quiesce() {
	x.server.functions.unblock(true)
	x.server.heal()
	if x.program.Options.Served {
		x.decide("")
	}
	if !x.running || x.canceled {
		return
	}
	x.checked("convergence")
	limit := x.patienceForHealing()
	for range int(limit / (10 * time.Second)) {
		synctest.Wait()
		if x.mayHaveEnded() || x.isConverged() {
			x.checkStreaming()
			return
		}
		<-time.After(10 * time.Second)
	}
	v, e := x.subject.view(), x.server.world.present()
	x.fail("convergence", "after %v the store at %s holds %s, the server has %v at %d, status %+v; %s", limit, v.version,
		describe(v.pods), e.now, e.head, x.subject.Status(), x.mismatch(e, len(x.server.world.epochs)-1, e.head, v))
}

func (x *execution) restored() bool {
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	return len(x.server.world.epochs) > 1
}

// describeView describes the objects of a view, and those that are not as the informer has stored
// them.
func describeView(v view, o options) string {
	text := v.version + describe(v.pods)
	for _, key := range sortedKeys(v.pods) {
		if err := intact(v.pods[key], o); err != nil {
			text += err.Error()
		}
	}
	return text
}
