// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import "fmt"

// Goal is the target of a metric.
type Goal struct {
	text     string
	relative bool // to the reference
	met      func(ours, reference float64) bool
}

// AtLeast is met if our figure is at least factor times the reference.
func AtLeast(factor float64) Goal {
	return Goal{"≥ " + number(factor) + "x", true, func(ours, reference float64) bool { return ours >= factor*reference }}
}

// AtMost is met if our figure is at most factor times the reference.
func AtMost(factor float64) Goal {
	return Goal{"≤ " + number(factor) + "x", true, func(ours, reference float64) bool { return ours <= factor*reference }}
}

// Within is met if our figure is at most limit. The reference does not matter.
func Within(limit float64, unit string) Goal {
	return Goal{fmt.Sprintf("≤ %s %s", number(limit), unit), false, func(ours, _ float64) bool { return ours <= limit }}
}

// AtMostMore is met if our figure exceeds the reference by at most limit.
func AtMostMore(limit float64, unit string) Goal {
	return Goal{fmt.Sprintf("≤ + %s %s", number(limit), unit), false, func(ours, reference float64) bool { return ours <= reference+limit }}
}

// Verdict returns whether the goal is met, as the table shows it: a dash if there is no goal, and
// "unclear" if the goal is relative to a reference of zero.
func (g Goal) Verdict(ours, reference float64) string {
	switch {
	case g.met == nil:
		return "–"
	case g.relative && reference == 0:
		return "unclear"
	case g.met(ours, reference): // a comparison with NaN is false
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
