package harness

import "fmt"

// Goal says what a metric is to reach.
type Goal struct {
	text  string
	times bool // of theirs, which nothing can be compared with if it is zero
	met   func(ours, theirs float64) bool
}

// AtLeast is reached by figures of which ours is at least so many times theirs.
func AtLeast(times float64) Goal {
	return Goal{"≥ " + number(times) + "x", true, func(ours, theirs float64) bool { return ours >= times*theirs }}
}

// AtMost is reached by figures of which ours is at most so many times theirs.
func AtMost(times float64) Goal {
	return Goal{"≤ " + number(times) + "x", true, func(ours, theirs float64) bool { return ours <= times*theirs }}
}

// Within is reached by a figure of ours that is at most limit, whatever theirs is.
func Within(limit float64, unit string) Goal {
	return Goal{fmt.Sprintf("≤ %s %s", number(limit), unit), false, func(ours, _ float64) bool { return ours <= limit }}
}

// Verdict says whether the goal is met; a dash where there is none, and "unclear"
// where the other side has got nothing done in the time it had: a goal of so many
// times nothing proves nothing.
func (g Goal) Verdict(ours, theirs float64) string {
	switch {
	case g.met == nil:
		return "–"
	case g.times && theirs == 0:
		return "unclear"
	case g.met(ours, theirs): // a comparison with NaN is false
		return "met"
	default:
		return "NOT MET"
	}
}

// String returns the goal as the table shows it.
func (g Goal) String() string {
	if g.met == nil {
		return "–"
	}
	return g.text
}
