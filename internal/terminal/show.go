// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package terminal shows the objects of an informer: as a live table on a terminal, as lines in a
// pipe, or once. Programs say what the columns are; see State.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kinformer/kinformer/cache"
)

// Informer is what a view needs of an informer or a controller.
type Informer interface {
	Run(ctx context.Context) error
	WaitForSync(ctx context.Context) error
	HasSynced() bool
	Status() cache.Status
}

// Shown is what a view shows.
type Shown struct {
	Noun     string // the objects, such as "nodes"
	Server   string // for messages
	Informer Informer
	// State returns the current state. It is safe for concurrent use.
	State func(now time.Time) State
}

// state returns the current state with the view's event counts.
func (s Shown) state(counts EventCounts, now time.Time) State {
	state := s.State(now)
	state.counts = counts
	return state
}

// View shows the objects. The informer's handler must record each event in it.
type View interface {
	Record(event Event)
	// run shows the objects until ctx ends or the view is complete.
	run(ctx context.Context, shown Shown) error
	// finish shows the final state, after the informer has stopped.
	finish(shown Shown) error
}

// NewView returns the view that fits the type of stdout, or one that prints the table once.
func NewView(stdout io.Writer, once bool) View {
	if once {
		return &onceView{out: stdout}
	}
	if size, ok := screenSize(stdout); ok {
		return newScreenView(stdout, size)
	}
	return newLinesView(stdout)
}

// Show runs the informer, and the view until it ends, for at most the duration unless that is zero.
// afterSync, if not nil, runs once all objects are listed.
func Show(ctx context.Context, v View, shown Shown, duration time.Duration, afterSync func(context.Context) error) error {
	background := newGroup(ctx)
	background.start(shown.Informer.Run)
	background.start(func(ctx context.Context) error {
		if err := shown.waitForSync(ctx); err != nil || afterSync == nil {
			return err
		}
		return afterSync(ctx)
	})
	err := runFor(background.ctx, v, shown, duration)
	if stopped := background.stop(); err != nil || stopped != nil {
		return errors.Join(err, stopped)
	}
	if !shown.Informer.HasSynced() {
		return fmt.Errorf("stopped before the %s of %s were listed", shown.Noun, shown.Server)
	}
	return v.finish(shown)
}

// runFor runs the view for the duration.
func runFor(ctx context.Context, v View, shown Shown, duration time.Duration) error {
	if duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, duration)
		defer cancel()
	}
	return v.run(ctx, shown)
}
