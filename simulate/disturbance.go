// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Disturbance is something that goes wrong in a run: one of [Crash], [LostResponse], [Conflict],
// [ServerError], [TooManyRequests], [Lag], [Gap], [BackInTime]. Without a place, it stands for one
// at each place where it could happen.
//
// A place is a write of the program, named by what it does: "2nd update of pods/status
// default/web". The verbs and resources are those of RBAC. A generated name is its prefix, an
// asterisk and, except in the create, a number: "1st delete of pods default/web-*2". Leases and
// Events have no places. [Lag] and [Gap] can also be at a write of the cluster or of Steps: "1st
// update of websites default/web by steps", "1st delete of pods default/web by cluster". A request
// to an external service is a place, too, but for Conflict, Lag and Gap: see [World.External]. A
// call of a webhook is one of Crash alone: see [ServeWebhooks]. If no run reaches the place of a
// disturbance in Test.Disturb, the test fails.
type Disturbance interface {
	// at returns the disturbance at each of the given writes, if it is a zero value, and otherwise
	// the disturbance itself.
	at(writes []string) []Disturbance
	// place returns the write at which it happens.
	place() string
	// affect adds what it does to the effects on the write.
	affect(*effects)
	fmt.Stringer
}

// Crash ends the process that does a write, immediately before or after the write: the program does
// not receive the response, its context is cancelled, and its further requests fail. When Start has
// returned, it is called again. At most one of the fields is set.
type Crash struct{ Before, After string }

// LostResponse executes a write and breaks the connection before the response.
type LostResponse struct{ To string }

// Conflict changes the managedFields of an object immediately before a write to it, and changes
// them back, as another client could: there are two events, and a write that carries a
// resourceVersion is answered with 409.
type Conflict struct{ To string }

// ServerError answers a write with 500 and does not execute it.
type ServerError struct{ To string }

// TooManyRequests answers a write with 429, to be retried after one second, and does not execute
// it.
type TooManyRequests struct{ To string }

// Lag holds the events of all watches of the resource that a write changes, for a time from the
// write on, as a slow API server or network does. Then they are delivered in order. Reads are not
// held, except streaming lists (WatchList), which are client-go's default. Zero For is 10 seconds
// of the bubble's clock.
//
// After half a second, another client changes the managedFields of all objects of the other
// resources that the program watches: resyncs and neighbours wake a controller all day, and a stale
// cache is harmless unless something does. Invariants are not called for these writes.
//
// With UntilTimer, the time ends when a timer of the program has fired after that half second, and
// the program is idle again: it has sent a request that no event, response or other client made it
// send. It is 2 minutes at most, or For. Zero Lag stands for both forms.
type Lag struct {
	After      string
	For        time.Duration
	UntilTimer bool
}

// Gap is like Lag, but the held events are lost: the watches end, and the next one is answered with
// 410 Gone, so that clients list again. They never see the states in between.
type Gap struct {
	After string
	For   time.Duration
}

// BackInTime is a Crash before a write. The process that is started again reads from an API server
// that lags: it has the state right after the last but one write of Steps, before the program
// reacted to that, or the state of the beginning. After a time it reads from another one, which is
// up to date. Zero For is 10 seconds of the bubble's clock.
//
// It is tried only if Test.Disturb has it. An API server answers the lists of today's clients
// consistently, so that a restart does not go back in time, unless the client asks for
// resourceVersion 0.
type BackInTime struct {
	Before string
	For    time.Duration
}

const (
	defaultHold = 10 * time.Second
	timerHold   = 2 * time.Minute
)

// effects are what the disturbances of a write do.
type effects struct {
	err                     error // the response, in place of the execution
	lost                    bool  // the response
	touch                   bool  // the object is changed and changed back before
	crashBefore, crashAfter bool
	hold                    time.Duration // of the events of the resource; zero if they are not held
	gap                     bool          // the held events are lost
	untilTimer              bool          // they are not held any longer once a timer of the program has fired
	past                    time.Duration // in which the process that is started again reads an old state; zero if it does not
}

// mark returns what happens to the request, for the timeline, or "" if nothing does.
func (e effects) mark() string {
	switch {
	case e.crashBefore:
		return "not executed, the process crashes"
	case e.err != nil:
		return "not executed"
	case e.crashAfter:
		return "the process crashes"
	case e.lost:
		return "the response is lost"
	case e.touch:
		return "after a write of another client"
	}
	return ""
}

// errDisturbed is the cause in a response that a disturbance has put in place of the server's.
var errDisturbed = errors.New("a simulated failure")

func (d Crash) affect(e *effects) {
	e.crashBefore = e.crashBefore || d.Before != ""
	e.crashAfter = e.crashAfter || d.After != ""
}

func (d LostResponse) affect(e *effects) { e.lost = true }

func (d Conflict) affect(e *effects)        { e.touch = true }
func (d ServerError) affect(e *effects)     { e.err = apierrors.NewInternalError(errDisturbed) }
func (d TooManyRequests) affect(e *effects) { e.err = apierrors.NewTooManyRequests("simulated", 1) }
func (d Gap) affect(e *effects)             { e.hold, e.gap = cmp.Or(d.For, defaultHold), true }

func (d Lag) affect(e *effects) {
	e.hold = cmp.Or(d.For, defaultHold)
	if d.UntilTimer {
		e.hold, e.untilTimer = cmp.Or(d.For, timerHold), true
	}
}

func (d BackInTime) affect(e *effects) {
	e.crashBefore, e.past = true, cmp.Or(d.For, defaultHold)
}

// everything returns one zero value of each disturbance that is tried unless a test says otherwise.
func everything() []Disturbance {
	return []Disturbance{Crash{}, LostResponse{}, Conflict{}, ServerError{}, TooManyRequests{}, Lag{}, Gap{}}
}

func (d BackInTime) at(writes []string) []Disturbance {
	return atEach(d, ofProgram(writes), func(w string) Disturbance { return BackInTime{Before: w, For: d.For} })
}

func (d BackInTime) place() string { return d.Before }

// String returns the Go expression of the disturbance.
func (d BackInTime) String() string {
	return fmt.Sprintf("simulate.BackInTime{Before: %q%s}", d.Before, forField(d.For))
}

func (d Crash) at(writes []string) []Disturbance {
	if d != (Crash{}) {
		return []Disturbance{d}
	}
	writes = slices.DeleteFunc(slices.Clone(writes), isOutside)
	before := each(writes, func(w string) Disturbance { return Crash{Before: w} })
	return append(before, each(writes, func(w string) Disturbance { return Crash{After: w} })...)
}

func (d LostResponse) at(writes []string) []Disturbance {
	return atEach(d, ofProgram(writes), func(w string) Disturbance { return LostResponse{To: w} })
}

// Only an update or a patch can have the resourceVersion of an older state of its object.
func (d Conflict) at(writes []string) []Disturbance {
	updates := slices.DeleteFunc(ofProgram(writes), func(w string) bool {
		return !strings.Contains(w, " update of ") && !strings.Contains(w, " patch of ")
	})
	return atEach(d, updates, func(w string) Disturbance { return Conflict{To: w} })
}

func (d ServerError) at(writes []string) []Disturbance {
	return atEach(d, ofProgram(writes), func(w string) Disturbance { return ServerError{To: w} })
}

func (d TooManyRequests) at(writes []string) []Disturbance {
	return atEach(d, ofProgram(writes), func(w string) Disturbance { return TooManyRequests{To: w} })
}

func (d Lag) at(writes []string) []Disturbance {
	all := atEach(d, toServer(writes), func(w string) Disturbance { return Lag{After: w, For: d.For, UntilTimer: d.UntilTimer} })
	if d == (Lag{}) {
		all = append(all, Lag{UntilTimer: true}.at(writes)...)
	}
	return all
}

func (d Gap) at(writes []string) []Disturbance {
	return atEach(d, toServer(writes), func(w string) Disturbance { return Gap{After: w, For: d.For} })
}

func (d Crash) place() string           { return d.Before + d.After }
func (d LostResponse) place() string    { return d.To }
func (d Conflict) place() string        { return d.To }
func (d ServerError) place() string     { return d.To }
func (d TooManyRequests) place() string { return d.To }
func (d Lag) place() string             { return d.After }
func (d Gap) place() string             { return d.After }

// String returns the Go expression of the disturbance.
func (d Crash) String() string {
	if d.Before != "" {
		return fmt.Sprintf("simulate.Crash{Before: %q}", d.Before)
	}
	return fmt.Sprintf("simulate.Crash{After: %q}", d.After)
}

// String returns the Go expression of the disturbance.
func (d LostResponse) String() string { return fmt.Sprintf("simulate.LostResponse{To: %q}", d.To) }

// String returns the Go expression of the disturbance.
func (d Conflict) String() string { return fmt.Sprintf("simulate.Conflict{To: %q}", d.To) }

// String returns the Go expression of the disturbance.
func (d ServerError) String() string { return fmt.Sprintf("simulate.ServerError{To: %q}", d.To) }

// String returns the Go expression of the disturbance.
func (d TooManyRequests) String() string {
	return fmt.Sprintf("simulate.TooManyRequests{To: %q}", d.To)
}

// String returns the Go expression of the disturbance.
func (d Lag) String() string {
	untilTimer := ""
	if d.UntilTimer {
		untilTimer = ", UntilTimer: true"
	}
	return fmt.Sprintf("simulate.Lag{After: %q%s%s}", d.After, forField(d.For), untilTimer)
}

// String returns the Go expression of the disturbance.
func (d Gap) String() string {
	return fmt.Sprintf("simulate.Gap{After: %q%s}", d.After, forField(d.For))
}

func forField(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf(", For: %d", d)
}

// atEach returns d itself, if it has a place, and otherwise the disturbance at each of the writes.
func atEach(d Disturbance, writes []string, build func(string) Disturbance) []Disturbance {
	if d.place() != "" {
		return []Disturbance{d}
	}
	return each(writes, build)
}

// ofProgram returns the writes that are the program's.
func ofProgram(writes []string) []string {
	return slices.DeleteFunc(slices.Clone(writes), func(w string) bool { return isOutside(w) || isCall(w) })
}

// toServer returns the writes that are to the API server.
func toServer(writes []string) []string {
	return slices.DeleteFunc(slices.Clone(writes), func(w string) bool { return isExternal(w) || isCall(w) })
}

func each(writes []string, build func(string) Disturbance) []Disturbance {
	all := make([]Disturbance, len(writes))
	for i, w := range writes {
		all[i] = build(w)
	}
	return all
}
