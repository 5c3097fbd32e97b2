package eventlog

import (
	"sync"
	"testing"
)

// rang tells whether the alarm has rung since the last time.
func rang(log *Log[int]) bool {
	select {
	case <-log.Alarm():
		return true
	default:
		return false
	}
}

func TestAlarm(t *testing.T) {
	log := New[int]()
	for range 5 {
		log.AppendOne(0)
	}
	if rang(log) {
		t.Error("rang without having been set")
	}
	log.AlarmAt(9)
	log.AlarmAt(7)
	log.AlarmAt(8) // later than what is set: does not count
	log.AppendOne(0)
	if rang(log) {
		t.Error("rang before its time")
	}
	log.Append([]int{0, 0}) // past it
	if !rang(log) {
		t.Error("did not ring")
	}
	log.AppendOne(0)
	if rang(log) {
		t.Error("rang twice")
	}
	log.AlarmAt(2) // is over already
	if !rang(log) {
		t.Error("did not ring for what has been")
	}
}

// Whether it is set just before or just after the append that it is for, it rings.
func TestAlarmBesideAWriter(t *testing.T) {
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
