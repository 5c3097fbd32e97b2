// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package eventlog

import (
	"sync"
	"testing"
)

// rang reports whether the alarm has rung since the last call.
func rang(log *Log[int]) bool {
	select {
	case <-log.Alarm():
		return true
	default:
		return false
	}
}

func TestAlarmRingsOnceAtTheLowestLength(t *testing.T) {
	log := New[int]()
	for range 5 {
		log.AppendOne(0)
	}
	if rang(log) {
		t.Error("the alarm rang without being set")
	}
	log.AlarmAt(9)
	log.AlarmAt(7)
	log.AlarmAt(8) // higher than 7, ignored
	log.AppendOne(0)
	if rang(log) {
		t.Error("the alarm rang too early")
	}
	log.Append([]int{0, 0}) // past 7
	if !rang(log) {
		t.Error("the alarm did not ring")
	}
	log.AppendOne(0)
	if rang(log) {
		t.Error("the alarm rang twice")
	}
	log.AlarmAt(2) // already reached
	if !rang(log) {
		t.Error("the alarm did not ring for a length that was already reached")
	}
}

func TestAlarmRingsWhenSetDuringAppends(t *testing.T) {
	log := New[int]()
	var wg sync.WaitGroup
	const events = 20_000
	wg.Go(func() {
		for next := uint64(1); next <= events; next++ {
			log.AlarmAt(next)
			<-log.Alarm()
		}
	})
	wg.Go(func() {
		for i := range events {
			log.AppendOne(i)
		}
	})
	wg.Wait()
}
