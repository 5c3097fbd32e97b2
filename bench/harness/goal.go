// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package harness

// Goal is the target of a metric. It judges our best figure and that of the reference.
type Goal struct {
	text     string
	absolute bool // for our figure, not for the ratio
	met      func(ours, reference float64) bool
	reason   string
}

// AtLeast is met if our figure is at least factor times the reference.
func AtLeast(factor float64) Goal {
	return Goal{text: "≥ " + number(factor) + "x", met: func(ours, reference float64) bool { return ours >= factor*reference }}
}

// AtMost is met if our figure is at most factor times the reference.
func AtMost(factor float64) Goal {
	return Goal{text: "≤ " + number(factor) + "x", met: func(ours, reference float64) bool { return ours <= factor*reference }}
}

// Within is met if our figure is at most limit. The reference does not matter.
func Within(limit float64, unit string) Goal {
	return Goal{text: "≤ " + number(limit) + " " + unit, absolute: true, met: func(ours, _ float64) bool { return ours <= limit }}
}

// AtMostMore is met if our figure exceeds the reference by at most limit.
func AtMostMore(limit float64, unit string) Goal {
	return Goal{text: "≤ + " + number(limit) + " " + unit, absolute: true, met: func(ours, reference float64) bool { return ours <= reference+limit }}
}

// MissedBecause returns the goal with the reason that the summary gives if it is missed.
func (g Goal) MissedBecause(reason string) Goal {
	g.reason = reason
	return g
}
