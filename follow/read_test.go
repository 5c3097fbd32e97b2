// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"errors"
	"testing"
	"time"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// TestReadBeforeTheFirstVerdictIsNoNotFound reads from an informer before Run, and after its first
// list.
func TestReadBeforeTheFirstVerdictIsNoNotFound(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		noError(t, h.server.Create(definition()))
		informer := h.newWidgets()
		if err := informer.Store().KeyError("default/gear"); !errors.Is(err, cache.ErrNotServed) {
			t.Errorf("before Run: %v, want ErrNotServed", err)
		}
		h.start(h.follower.Run, informer.Run)
		noError(t, informer.WaitForSync(t.Context()))
		if err := informer.Store().KeyError("default/gear"); err != nil {
			t.Errorf("after the list: %v, want none", err)
		}
	})
}

// Permission that is granted late ends the requests for what is not served, also if there is no
// definition whose event would make the follower ask.
func TestLatePermissionIsNoticed(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		h.server.InjectFault(16, of("customresourcedefinitions"), fake.Fault{Err: fake.Forbidden()})
		informer := h.newWidgets()
		h.start(h.follower.Run, informer.Run)
		began := time.Now()
		for after(10 * time.Second); h.follower.Status().Err != nil; after(time.Second) {
			if phase := informer.Status().Phase; phase != cache.PhaseRetrying {
				t.Fatalf("phase %s without permission", phase)
			}
		}
		if granted := time.Since(began); granted < 3*time.Minute {
			t.Errorf("permission was granted after %v, while the follower still asks often", granted)
		}
		after(time.Minute + 5*time.Second)
		if phase := informer.Status().Phase; phase != cache.PhaseNotServed {
			t.Errorf("phase %s a minute after permission was granted", phase)
		}
	})
}
