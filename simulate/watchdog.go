// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// watchdog ends the test binary with an explanation if a run makes no progress: nothing else could,
// because the bubble's clock stands still. It runs outside of the bubble.
type watchdog struct {
	progress atomic.Int64
	stopped  chan struct{}
	ended    chan struct{} // closed when run has returned
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
	w := &watchdog{stopped: make(chan struct{}), ended: make(chan struct{})}
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
			all := allStacks()
			fmt.Fprintf(os.Stderr, "simulate: the run has made no progress for %v: %s\n\n%s\n", watchdogPeriod(), explain(all), strings.Join(all, "\n\n"))
			panic("simulate: no progress; see above")
		}
	}
}

// explain says which goroutines keep a bubble's clock from advancing.
func explain(all []string) string {
	stacks := slices.DeleteFunc(slices.Clone(all), isOutsideOfBubbles)
	for _, stack := range stacks {
		header, _, _ := strings.Cut(stack, "\n")
		switch {
		case strings.Contains(header, "IO wait"):
			return "a goroutine waits for the network. Listen on no port, and use no client but those of the configuration that Start receives and of World.External"
		case strings.Contains(header, "syscall"):
			return "a goroutine is in a system call"
		}
	}
	for _, stack := range stacks {
		if strings.Contains(stack, "sync.Mutex.Lock") || strings.Contains(stack, "sync.RWMutex") {
			return "a goroutine waits for a mutex whose holder sleeps or waits for what does not come"
		}
	}
	switch {
	case slices.ContainsFunc(stacks, isBusy):
		return "a goroutine runs without end"
	case slices.ContainsFunc(all, isBusy):
		return "a goroutine outside of the bubble runs without end, such as one that another test has left"
	}
	return "a goroutine of the program waits for something outside of the bubble"
}

// isBusy reports whether a stack is that of a goroutine that can run, and is neither the watchdog's
// nor the scheduler's, which waits until no other one can run.
func isBusy(stack string) bool {
	header, _, _ := strings.Cut(stack, "\n")
	return (strings.Contains(header, "[runnable") || strings.Contains(header, "[running")) &&
		!strings.Contains(stack, "simulate.(*watchdog).run(") && !strings.Contains(stack, "simulate.quiescence.wait(")
}

// isOutsideOfBubbles reports whether a stack is that of a goroutine in no bubble.
func isOutsideOfBubbles(stack string) bool {
	header, _, _ := strings.Cut(stack, "\n")
	return !strings.Contains(header, "synctest bubble")
}

// bubbleStacks returns the stacks of all goroutines in bubbles.
func bubbleStacks() []string { return slices.DeleteFunc(allStacks(), isOutsideOfBubbles) }

// allStacks returns the stacks of all goroutines.
func allStacks() []string {
	buffer := make([]byte, 1<<14)
	n := runtime.Stack(buffer, true)
	for n == len(buffer) {
		buffer = make([]byte, 4*len(buffer))
		n = runtime.Stack(buffer, true)
	}
	return strings.Split(string(buffer[:n]), "\n\n")
}

// programStacks returns the stacks of the goroutines of the caller's bubble, but for those of the
// simulation.
func programStacks() []string {
	all := bubbleStacks() // the caller's is the first
	header, _, _ := strings.Cut(all[0], "\n")
	bubble := header[strings.Index(header, "synctest bubble"):]
	var stacks []string
	for _, stack := range all[1:] {
		header, _, _ := strings.Cut(stack, "\n")
		if strings.HasSuffix(header, bubble) && !strings.Contains(stack, "testing/synctest.") {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}
