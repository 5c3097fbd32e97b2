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
		for n := range uint64(2) {
			held := l.hold(scope.Scope{Hash: scope.Range{Field: scope.UID, First: n << 63, Last: n<<63 + 1}})
			if err := l.store.NewFeed(store.FeedConfig{Scopes: partsOf([]*heldScope{held})}).Begin().Commit("10"); err != nil {
				t.Fatal(err)
			}
		}
		l.noteSynced()
		l.groupOf(scope.Scope{Hash: scope.Range{Field: scope.UID}}.WithoutRange()).nextJoin = time.Now().Add(time.Minute)
		l.join(t.Context())
		if want := time.Now().Add(time.Minute); !l.wakeAt.Equal(want) {
			t.Errorf("the loop wakes up at %v, want %v", l.wakeAt, want)
		}
		l.store.Clear(t.Context(), errors.New("not served"), true)
		<-time.After(time.Hour)
		l.wakeAt = time.Time{}
		l.join(t.Context())
		if len(l.streams) > 0 || !l.wakeAt.IsZero() {
			t.Errorf("%d streams, and the loop wakes up at %v", len(l.streams), l.wakeAt)
		}
	})
}
