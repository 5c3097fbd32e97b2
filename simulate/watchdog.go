// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// watchdog finds a run that makes no progress: nothing in the bubble could, because its clock
// stands still. It runs outside of the bubble.
type watchdog struct {
	progress atomic.Int64
	bubble   atomic.Value // of the run: a string
	stuck    chan *stuck  // receives the first run without progress
	stopped  chan struct{}
	ended    chan struct{} // closed when run has returned
}

// stuck is a run without progress.
type stuck struct {
	period time.Duration // without progress
	why    string
	stacks []string // of all goroutines, the one that explains it first
	busy   bool     // a goroutine runs without end: no other simulation could run beside it
}

// watchdogPeriod returns the real time without progress after which a run is stuck. It is long for
// slow machines.
func watchdogPeriod() time.Duration {
	return cmp.Or(time.Duration(shortWatchdogPeriod.Load()), 30*time.Second)
}

// shortWatchdogPeriod is that of tests, in nanoseconds, or zero.
var shortWatchdogPeriod atomic.Int64

// watchdogChecks is the number of checks in a period.
const watchdogChecks = 10

func startWatchdog() *watchdog {
	w := &watchdog{stuck: make(chan *stuck, 1), stopped: make(chan struct{}), ended: make(chan struct{})}
	go w.run()
	return w
}

// stop ends the watchdog's goroutine.
func (w *watchdog) stop() {
	close(w.stopped)
	<-w.ended
}

func (w *watchdog) run() {
	defer close(w.ended)
	last, idle := int64(-1), 0
	for {
		select {
		case <-w.stopped:
			return
		case <-time.After(watchdogPeriod() / watchdogChecks):
		}
		now := w.progress.Load()
		if now == last {
			idle++
		} else {
			last, idle = now, 0
		}
		if idle == watchdogChecks {
			w.stuck <- w.explain()
			return
		}
	}
}

// busyChecks is the number of times, a hundredth of a second apart, that a goroutine is able to run
// if it runs without end.
const busyChecks = 10

// explain returns what keeps the clock of the run's bubble from advancing.
func (w *watchdog) explain() *stuck {
	all := allStacks()
	s := &stuck{period: watchdogPeriod(), busy: true}
	for range busyChecks {
		if s.busy = slices.ContainsFunc(all, isBusy); !s.busy {
			break
		}
		time.Sleep(10 * time.Millisecond)
		all = allStacks()
	}
	bubble, _ := w.bubble.Load().(string)
	isInRun := func(stack string) bool { return bubbleOf(stack) == bubble }
	for _, cause := range causes {
		i := slices.IndexFunc(all, func(stack string) bool { return (cause.outside || isInRun(stack)) && cause.explains(stack) })
		if i >= 0 {
			culprit := all[i]
			s.why, s.stacks = cause.why, slices.Insert(slices.Delete(all, i, i+1), 0, culprit)
			return s
		}
	}
	s.why, s.stacks = outside, all
	return s
}

const outside = "a goroutine of the program waits for something outside of the bubble"

// causes are what keeps the clock of a bubble from advancing, the most telling first.
var causes = []struct {
	explains func(stack string) bool
	outside  bool // the goroutine may be outside of the bubble
	why      string
}{
	{explains: headerHas("IO wait"), why: "a goroutine waits for the network. Listen on no port, and use no client but those of the configuration that Start receives and of World.External"},
	{explains: headerHas("syscall"), why: "a goroutine is in a system call"},
	{explains: waitsForMutex, why: "a goroutine waits for a mutex whose holder sleeps or waits for what does not come"},
	{explains: isBusy, why: "a goroutine runs without end"},
	{explains: isBusy, outside: true, why: "a goroutine outside of the bubble runs without end, such as one that another test has left"},
	{explains: waitsOutside, why: outside},
}

// headerHas returns a function that reports whether the first line of a stack has a text.
func headerHas(text string) func(stack string) bool {
	return func(stack string) bool {
		header, _, _ := strings.Cut(stack, "\n")
		return strings.Contains(header, text)
	}
}

// waitsForMutex reports whether a stack is that of a goroutine that waits for a mutex.
func waitsForMutex(stack string) bool {
	return strings.Contains(stack, "sync.Mutex.Lock") || strings.Contains(stack, "sync.RWMutex")
}

// waitsOutside reports whether a stack is that of a goroutine of the program that waits for what is
// not in its bubble.
func waitsOutside(stack string) bool {
	return !headerHas("(durable)")(stack) && !strings.Contains(stack, "testing/synctest.")
}

// isBusy reports whether a stack is that of a goroutine that can run, and is neither the watchdog's
// nor the scheduler's, which waits until no other one can run.
func isBusy(stack string) bool {
	return (headerHas("[runnable")(stack) || headerHas("[running")(stack)) &&
		!strings.Contains(stack, "simulate.(*watchdog).run(") && !strings.Contains(stack, "simulate.quiescence.wait(")
}
