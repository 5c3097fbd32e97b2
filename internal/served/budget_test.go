// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"testing"
	"time"
)

// budgetHarness has a budget, and the time.
type budgetHarness struct {
	*testing.T
	Budget

	now time.Time
}

func newBudgetHarness(t *testing.T) *budgetHarness {
	return &budgetHarness{T: t, now: time.Unix(0, 0)}
}

// expectWaits checks the waits of the next requests.
func (h *budgetHarness) expectWaits(wants ...time.Duration) {
	h.Helper()
	for i, want := range wants {
		if got := h.Spend(h.now); got != want {
			h.Errorf("wait %d is %v, want %v", i, got, want)
		}
	}
}

func TestRequestBudget(t *testing.T) {
	h := newBudgetHarness(t)
	full := make([]time.Duration, 10)
	h.expectWaits(append(full, 5*time.Second)...)
	h.now = h.now.Add(5 * time.Second) // the wait has passed
	h.expectWaits(5 * time.Second)
	h.now = h.now.Add(time.Hour)
	h.expectWaits(append(full, 5*time.Second)...)
	h.now = h.now.Add(-26 * 365 * 24 * time.Hour) // set back
	h.expectWaits(maxDebt, maxDebt)
}

func TestBudgetOfAnsweredLists(t *testing.T) {
	h := newBudgetHarness(t)
	list := func(want time.Duration) {
		t.Helper()
		got := h.UntilList(h.now)
		if got != want {
			t.Errorf("list %d must wait %v, want %v", h.answered+1, got, want)
		}
		h.now = h.now.Add(got)
		h.ListAnswered(h.now)
		h.now = h.now.Add(10 * time.Second)
	}
	list(0) // the initial one, and those at 10, 20, 30 and 40 s
	for range maxLists {
		list(0)
	}
	list(20 * time.Second) // at 70 s
	for range maxLists - 1 {
		list(0)
	}
	h.now = h.now.Add(-time.Hour) // set back
	list(listWindow)
	h.now = h.now.Add(24 * time.Hour)
	list(0)
}

// TestBudgetOfAStart checks how long an informer waits that continues a budget, and when a new
// budget would do.
func TestBudgetOfAStart(t *testing.T) {
	for name, row := range map[string]struct {
		before func(h *budgetHarness)
		wait   time.Duration
		over   time.Duration // after which the budget is over
	}{
		"nothing":         {func(*budgetHarness) {}, 0, 0},
		"one request":     {func(h *budgetHarness) { h.Spend(h.now) }, 0, 65 * time.Second},
		"eight requests":  {func(h *budgetHarness) { h.spend(8) }, 0, 100 * time.Second},
		"nine requests":   {func(h *budgetHarness) { h.spend(9) }, 5 * time.Second, 105 * time.Second},
		"twelve requests": {func(h *budgetHarness) { h.spend(12) }, 20 * time.Second, 120 * time.Second},
		"five lists": {func(h *budgetHarness) {
			for range 5 {
				h.spend(1)
				h.ListAnswered(h.now)
			}
		}, time.Minute, 85 * time.Second},
		"a Retry-After": {func(h *budgetHarness) { h.RetryAfter(h.now.Add(70 * time.Second)) }, 70 * time.Second, 70 * time.Second},
		"a clock that is set back": {func(h *budgetHarness) {
			h.RetryAfter(h.now.Add(24 * time.Hour))
		}, MaxRetryAfter, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			h := newBudgetHarness(t)
			row.before(h)
			if got := h.UntilStart(h.now); got != row.wait {
				t.Errorf("the start must wait %v, want %v", got, row.wait)
			}
			if row.over > 0 && h.IsOver(h.now.Add(row.over-time.Millisecond)) {
				t.Errorf("the budget is over before %v", row.over)
			}
			if !h.IsOver(h.now.Add(row.over)) {
				t.Errorf("the budget is not over after %v", row.over)
			}
		})
	}
}

func (h *budgetHarness) spend(n int) {
	for range n {
		h.Spend(h.now)
	}
}
