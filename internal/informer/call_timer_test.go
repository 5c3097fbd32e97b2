// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kinformer/kinformer/internal/pack"
)

// slowPacker takes ten seconds to unpack an object.
type slowPacker struct{ rawPacker }

func (p slowPacker) Unpack(object pack.Object) (any, error) {
	<-time.After(10 * time.Second)
	return p.rawPacker.Unpack(object)
}

// TestCallTimeIsThatOfTheCallback checks the number and the time of a handler's calls, for the
// initial state and for events, by single events and by batches. Decoding, waiting for events and
// the pause after a panic do not count.
func TestCallTimeIsThatOfTheCallback(t *testing.T) {
	slowly := func(config *Config) { config.Store.Packer = slowPacker{} }
	runInformer(t, []string{"a=1", "b=1"}, slowly, func(h *harness) {
		h.AddHandler("events", func(Event) { <-time.After(time.Second) }, 0)
		h.add(HandlerConfig{Name: "batches", OnBatch: func([]Event) { <-time.After(time.Second) }})
	}, func(h *harness) {
		<-time.After(time.Minute)
		h.send(watch.Modified, "a=2", "11")
		<-time.After(time.Minute)
		for i, want := range []HandlerStatus{
			{Name: "events", UniqueName: "events", Synced: true, Calls: 3, CallTime: 3 * time.Second},
			{Name: "batches", UniqueName: "batches", Synced: true, Calls: 2, CallTime: 2 * time.Second},
		} {
			if got := h.Handlers()[i]; got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
	})
}

// TestCallTimeIsUpdatedDuringALongBatch reads the status of a slow handler that receives many
// events at a time.
func TestCallTimeIsUpdatedDuringALongBatch(t *testing.T) {
	var objects []string
	for i := range 100 {
		objects = append(objects, fmt.Sprint(i, "=1"))
	}
	var began time.Time
	runInformer(t, objects, nil, func(h *harness) {
		began = time.Now()
		h.AddHandler("slow", func(Event) { <-time.After(time.Second) }, 0)
	}, func(h *harness) {
		for range 3 {
			<-time.After(4*time.Second + 400*time.Millisecond)
			if got := h.Handlers()[0]; got.CallTime != time.Since(began) || got.Calls != uint64(time.Since(began)/time.Second) {
				t.Errorf("%v after the first call of a second began: %d calls took %v", time.Since(began), got.Calls, got.CallTime)
			}
		}
	})
}

// TestCallInProgress checks the key of the call in progress, and that the time for which it has not
// returned is exact for the first call of a row, and otherwise never too long.
func TestCallInProgress(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	timer := &callTimer{clock: clock}
	expect := func(key string, took time.Duration) {
		t.Helper()
		if gotKey, got := timer.current(); gotKey != key || got != took {
			t.Errorf("%q for %v, want %q for %v", gotKey, got, key, took)
		}
	}
	pass := func(d time.Duration) { clock.SetTime(clock.Now().Add(d)) }
	returned := func() { timer.calls.Add(1) }

	expect("", 0)
	timer.begin()
	expect("", 0)
	timer.call("a")
	pass(time.Minute)
	expect("a", time.Minute)
	returned()
	timer.call("b")
	pass(time.Second)
	expect("b", 0) // it may have begun just now
	pass(time.Minute)
	expect("b", time.Minute)
	returned()
	timer.call("c")
	expect("c", 0)
	returned()
	timer.end()
	expect("", 0)

	pass(time.Hour)
	timer.begin()
	timer.call("d")
	pass(time.Second)
	expect("d", time.Second)
	returned()
	timer.call("e") // current does not see it
	returned()
	timer.end()
	timer.resume() // without reading the clock
	timer.call("f")
	pass(2 * time.Second)
	expect("f", 2*time.Second)
	clock.SetTime(time.Unix(0, 0)) // set back
	expect("f", 0)
}
