// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// plotHeight is the height of a plot in its own units. An interval is two units wide.
const plotHeight = 24

// plot is a bar for each recent interval that is over.
type plot struct {
	Path  string // of an SVG
	Width int
	Peak  float64 // events per second
	Label string  // says the same in words
	Span  time.Duration
}

// Plot returns the plot of the recent events.
func (i informer) Plot() plot {
	over := i.RecentEvents[:max(0, len(i.RecentEvents)-1)]
	p := plot{Width: 2 * len(over), Span: time.Duration(len(over)) * recentEventsInterval}
	if len(over) == 0 {
		p.Label = "no events recorded"
		return p
	}
	peak := slices.Max(over)
	p.Peak = float64(peak) / recentEventsInterval.Seconds()
	for n, events := range over {
		if events > 0 {
			height := max(1, float64(events)/float64(peak)*(plotHeight-1))
			p.Path += fmt.Sprintf("M%d %dv-%.1fh1.5v%.1fz", 2*n, plotHeight, height, height)
		}
	}
	p.Label = fmt.Sprintf("events in the last %s: %s per second now, at most %s", duration(p.Span), rate(i.EventsPerSecond), rate(p.Peak))
	return p
}

// Sparkline returns the recent events as text, with a character for each 25 s, or an empty text if
// there were none.
func (i informer) Sparkline() string {
	var sums []int
	for interval := range slices.Chunk(i.RecentEvents[:max(0, len(i.RecentEvents)-1)], 5) {
		sum := 0
		for _, n := range interval {
			sum += int(n)
		}
		sums = append(sums, sum)
	}
	if len(sums) == 0 || slices.Max(sums) == 0 {
		return ""
	}
	var line strings.Builder
	for _, sum := range sums {
		line.WriteRune('▁' + rune((7*sum+slices.Max(sums)-1)/slices.Max(sums)))
	}
	return line.String()
}
