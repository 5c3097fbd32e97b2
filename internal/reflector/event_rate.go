// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import "time"

const (
	// RateInterval is the time that each number of RequestStatus.RecentEvents covers.
	RateInterval = 5 * time.Second
	// rateIntervals is how many of them a reflector keeps.
	rateIntervals = 60
)

// eventRate counts the events of the last minutes by interval.
type eventRate struct {
	counts [rateIntervals]uint32 // by interval, modulo rateIntervals
	latest int64                 // the interval of the latest count
}

// add counts n events at a time. After the clock was set back, by more than an interval, it starts
// again.
func (e *eventRate) add(at time.Time, n uint32) {
	e.advance(at)
	e.counts[e.latest%rateIntervals] += n
}

// advance begins the intervals up to a time.
func (e *eventRate) advance(at time.Time) {
	interval := at.UnixNano() / int64(RateInterval)
	if interval-e.latest >= rateIntervals || interval < e.latest-1 {
		*e = eventRate{latest: interval}
	}
	for e.latest < interval {
		e.latest++
		e.counts[e.latest%rateIntervals] = 0
	}
}

// recent returns the counts up to now, the oldest first.
func (e *eventRate) recent(now time.Time) []uint32 {
	e.advance(now)
	recent := make([]uint32, 0, rateIntervals)
	for i := range int64(rateIntervals) {
		recent = append(recent, e.counts[(e.latest+1+i)%rateIntervals])
	}
	return recent
}
