// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/store"
)

// The loop of an informer whose resource is not served does not wake up for watches that were not
// joined before. The next lists make it join them.
func TestWatchesAreNotJoinedWhileNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{Store: store.New(store.Config{ScopeOf: new(scope.Set).Of}), Set: new(scope.Set), Clock: clock.RealClock{}})
		l.join(t.Context())
		l.store.Vacate(t.Context(), errors.New("not served"), true)
		<-time.After(time.Hour)
		l.join(t.Context())
		if !l.wakeAt.IsZero() {
			t.Error("the loop wakes up, and joins nothing")
		}
	})
}
