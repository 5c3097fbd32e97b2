// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestRequestBudget(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	b := requestBudget{clock: clock}
	expect := func(wants ...time.Duration) {
		t.Helper()
		for i, want := range wants {
			if got := b.spend(); got != want {
				t.Errorf("wait %d is %v, want %v", i, got, want)
			}
		}
	}
	expect(0, 0, 0, 0, requestInterval)
	clock.SetTime(clock.Now().Add(requestInterval)) // the wait has passed
	expect(requestInterval)
	clock.SetTime(clock.Now().Add(time.Hour))
	expect(0, 0, 0, 0, requestInterval)
	clock.SetTime(clock.Now().Add(-26 * 365 * 24 * time.Hour)) // set back
	expect(maxDebt, maxDebt)
}
