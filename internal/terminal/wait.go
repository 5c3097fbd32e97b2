// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"context"
	"time"

	"github.com/kinformer/kinformer/cache"
)

// An informer retries forever, as a controller requires. An interactive program reports an error
// after a while instead.
const (
	firstSyncTimeout = 10 * time.Second      // without any answer from the server, or another object of its list
	maxAttempts      = 3                     // failed ones, about three seconds
	pollInterval     = 50 * time.Millisecond // between two looks at the informer's status
)

// waitForSync blocks until all objects are listed or ctx ends. It returns an error if the list is
// unlikely to succeed.
func (s Shown) waitForSync(ctx context.Context) error {
	deadline, received := time.Now().Add(firstSyncTimeout), 0
	for ctx.Err() == nil && !s.syncedWithin(ctx, pollInterval) {
		status := s.Informer.Status()
		if status.Received != received {
			deadline, received = time.Now().Add(firstSyncTimeout), status.Received
		}
		if shouldGiveUp(status) || time.Now().After(deadline) {
			return explainListError(s.Noun, s.Server, status.Err)
		}
	}
	return nil
}

// syncedWithin waits for up to the timeout and reports whether all objects are listed. If they are
// not, the informer's Status has the reason.
func (s Shown) syncedWithin(ctx context.Context, timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return s.Informer.WaitForSync(ctx) == nil
}

// shouldGiveUp reports whether the first list is unlikely to succeed.
func shouldGiveUp(status cache.Status) bool {
	return isPermanent(status.Err) || status.Attempts >= maxAttempts || status.Phase == cache.PhaseInvalid
}
