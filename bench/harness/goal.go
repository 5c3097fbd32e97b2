package harness

import "fmt"

// Goal says what a metric is to reach.
type Goal struct {
	text string
	met  func(ours, theirs float64) bool
}

// AtLeast is reached by figures of which ours is at least so many times theirs, and
// more than nothing.
func AtLeast(times float64) Goal {
	return Goal{"≥ " + number(times) + "x", func(ours, theirs float64) bool { return ours > 0 && ours >= times*theirs }}
}

// AtMost is reached by figures of which ours is at most so many times theirs.
func AtMost(times float64) Goal {
	return Goal{"≤ " + number(times) + "x", func(ours, theirs float64) bool { return ours <= times*theirs }}
}

// Within is reached by a figure of ours that is at most limit, whatever theirs is.
func Within(limit float64, unit string) Goal {
	return Goal{fmt.Sprintf("≤ %s %s", number(limit), unit), func(ours, _ float64) bool { return ours <= limit }}
}

// Verdict says whether the goal is met; a dash where there is none.
func (g Goal) Verdict(ours, theirs float64) string {
	switch {
	case g.met == nil:
		return "–"
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
