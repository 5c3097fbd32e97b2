// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/kinformer/kinformer/simulate/internal/canonical"
)

// Oracle is a rule that decides whether a run was correct.
type Oracle string

// The oracles. Test.Without switches them off.
const (
	// EndState requires that a disturbed run ends in the same state as the undisturbed run, and
	// that the undisturbed program writes something or Test.Outside is set, so that there is
	// something to compare.
	EndState Oracle = "end state"
	// Order requires that an undisturbed run in another order ends in the same state.
	Order Oracle = "order"
	// Rest requires that the program comes to rest. Without it, a Settle ends after ten times
	// Test.Rest; too many requests and events fail the run all the same.
	Rest Oracle = "rest"
	// Refused requires that the API server does not refuse what an undisturbed program tries again
	// and again: at rest, the last three answers to a write were not 4xx codes, and those to a read
	// were not 403. Deletes of objects that do not exist, creates of those that do, and dry runs do
	// not count, nor do writes to objects that are gone at rest, or to resources that are not
	// served. In every run, it requires that Test.Roles permit all that the program does.
	// Test.MayBeRefused excuses requests.
	Refused Oracle = "refused"
	// Return requires that Start does not return before its context is cancelled, except with an
	// error after a disturbance (it is then called again), and that it returns within 5 minutes of
	// the end of the run.
	Return Oracle = "return"
	// Panic requires that Start does not panic, and that client-go recovers no panic.
	Panic Oracle = "panic"
	// Goroutines requires that no goroutine is left after Start has returned.
	Goroutines Oracle = "goroutines"
)

const (
	oracleInvariant Oracle = "invariant" // of the test
	oracleSteps     Oracle = "steps"     // a step of the test, or the set-up, has failed
)

// failure is a rule that a run has broken.
type failure struct {
	oracle Oracle
	text   string
	stacks []string // of goroutines, of which the text has the program's frames; or nil
}

// record is what a run has done.
type record struct {
	began    time.Time
	without  []Oracle
	stimuli  int
	load     int      // the greatest that was counted: see runUntil
	points   []string // the writes of the program
	writes   []string // of the program, with their results
	accepted int      // number of writes of the program that were not refused
	happened []Disturbance
	states   []canonical.State // at the end of each Settle
	timeline timeline
	failure  *failure // the first one
}

func (r *record) failed() bool { return r.failure != nil }

// fail notes a failure, unless there is one or the oracle is switched off.
func (r *record) fail(o Oracle, format string, args ...any) {
	if !slices.Contains(r.without, o) {
		r.failAlways(o, format, args...)
	}
}

// failAlways notes a failure that ends the run even if the oracle is switched off.
func (r *record) failAlways(o Oracle, format string, args ...any) {
	if r.failure == nil {
		r.failure = &failure{oracle: o, text: fmt.Sprintf(format, args...)}
	}
}

// failWithStacks notes a failure as fail does, with the program's frames of stacks.
func (r *record) failWithStacks(o Oracle, stacks []string, format string, args ...any) {
	if r.failed() || slices.Contains(r.without, o) {
		return
	}
	r.failAlways(o, "%s\n%s", fmt.Sprintf(format, args...), programFrames(stacks))
	r.failure.stacks = stacks
}

// note adds an entry to the timeline. Who is empty for what the scheduler does.
func (r *record) note(who, what string) { r.add(entry{who: who, what: what}) }

// add adds an entry to the timeline, at the present time.
func (r *record) add(e entry) {
	e.at = time.Since(r.began)
	r.timeline = append(r.timeline, e)
}
