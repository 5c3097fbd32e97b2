// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package eventlog

import (
	"math"
	"sync/atomic"
)

// noAlarm is a length that no log reaches.
const noAlarm = math.MaxUint64

// alarm notifies once the log has a given length, so that no goroutine has to poll. It costs one
// atomic load per append.
//
// AlarmAt sets the alarm and then reads the length of the log; an append does so in reverse order.
// Therefore at least one of them sees the other.
type alarm struct {
	at   atomic.Uint64 // length of the log at which the alarm rings
	rung chan struct{} // has a buffer of one
}

func (a *alarm) init() {
	a.rung = make(chan struct{}, 1)
	a.at.Store(noAlarm)
}

// reached rings and resets the alarm if the log has the length that it was set to.
func (a *alarm) reached(appended uint64) {
	at := a.at.Load()
	if appended < at || !a.at.CompareAndSwap(at, noAlarm) {
		return
	}
	select {
	case a.rung <- struct{}{}:
	default: // the previous value has not been received yet
	}
}

// AlarmAt sets the alarm of the log: Alarm receives a value once that many events have been
// appended since New. If the alarm is already set, the lower number applies. AlarmAt is safe for
// concurrent use.
func (l *Log[E]) AlarmAt(events uint64) {
	for {
		set := l.alarm.at.Load()
		if events >= set || l.alarm.at.CompareAndSwap(set, events) {
			break
		}
	}
	l.alarm.reached(l.appended.Load())
}

// Alarm returns the channel that receives a value when the alarm rings. It may ring too often but
// never too late, so the receiver must check the log.
func (l *Log[E]) Alarm() <-chan struct{} { return l.alarm.rung }
