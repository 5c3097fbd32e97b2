// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"context"
	"runtime/debug"
	"time"
)

// measureIdle counts the context switches of this process while the informers receive nothing. The
// memory that the initial sync no longer needs is returned before it, which the runtime would do in
// the background for minutes.
func (job ScopesJob) measureIdle(ctx context.Context, cost *ScopesCost) error {
	if job.Idle == 0 {
		return nil
	}
	debug.FreeOSMemory()
	if err := sleep(ctx, job.Idle/10); err != nil { // what the sync started has ended then
		return err
	}
	before := contextSwitches()
	err := sleep(ctx, job.Idle)
	cost.Switches = (contextSwitches() - before) / job.Idle.Seconds()
	return err
}

// sleep waits for a time, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
