package eventlog

import (
	"math"
	"sync/atomic"
)

// noAlarm is a number of events that no log reaches.
const noAlarm = math.MaxUint64

// alarm tells somebody that the log has grown to a certain length, so that nobody
// has to look. An append pays one atomic load for it.
//
// It is set first and compared with the log's length afterwards, an append does it
// the other way round: one of the two sees the other.
type alarm struct {
	at   atomic.Uint64 // rings once so many events were appended
	rung chan struct{} // holds one
}

func (a *alarm) init() {
	a.rung = make(chan struct{}, 1)
	a.at.Store(noAlarm)
}

// reached rings, once, if the log is as long as the alarm was set to.
func (a *alarm) reached(appended uint64) {
	at := a.at.Load()
	if appended < at || !a.at.CompareAndSwap(at, noAlarm) {
		return
	}
	select {
	case a.rung <- struct{}{}:
	default: // it has not been heard yet
	}
}

// AlarmAt makes Alarm ring once so many events have been appended since New. There is
// one alarm: set again before it rings, the earlier one holds. It may be called from
// any goroutine.
func (l *Log[E]) AlarmAt(events uint64) {
	for {
		set := l.alarm.at.Load()
		if events >= set || l.alarm.at.CompareAndSwap(set, events) {
			break
		}
	}
	l.alarm.reached(l.appended.Load())
}

// Alarm is the channel that gets a value when the alarm rings. It may ring too often,
// but not too late: whoever hears it looks at the log.
func (l *Log[E]) Alarm() <-chan struct{} { return l.alarm.rung }
