// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"slices"
	"testing"
	"time"
)

// TestEventRateCountsByInterval counts events at increasing times, after a long pause, and after
// the clock was set back.
func TestEventRateCountsByInterval(t *testing.T) {
	var rate eventRate
	start := time.Unix(1_000_000, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	expect := func(now time.Time, want ...uint32) {
		t.Helper()
		got := rate.recent(now)
		all := append(make([]uint32, rateIntervals-len(want)), want...)
		if !slices.Equal(got, all) {
			t.Errorf("recent returned %v, want %v after zeros", got, want)
		}
	}
	expect(start)
	rate.add(at(0), 1)
	rate.add(at(4), 1)
	rate.add(at(5), 1)
	rate.add(at(17), 4)
	expect(at(19), 2, 1, 0, 4)
	rate.add(at(14), 1) // the clock was set back a little
	expect(at(20), 2, 1, 0, 5, 0)
	rate.add(at(295), 7)
	expect(at(299), append([]uint32{2, 1, 0, 5}, append(make([]uint32, 55), 7)...)...)
	expect(at(300), append([]uint32{1, 0, 5}, append(make([]uint32, 55), 7, 0)...)...)
	expect(at(10_000))
	rate.add(at(50), 3) // the clock was set back
	expect(at(50), 3)
}
