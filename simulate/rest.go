// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kinformer/kinformer/simulate/internal/canonical"
)

// restOracle decides when a program has come to rest: no write has changed anything for a time.
// Leases, Events and ignored fields do not count.
type restOracle struct {
	period     time.Duration
	lastChange time.Time
	began      time.Time          // of the Settle in progress
	writes     map[repeatable]int // since began
	outside    canonical.State    // of Test.Outside, after the last write to an external service
}

// repeatable is a write, by what it does and how it ended: "409", "no effect", or empty for one
// that changed something.
type repeatable struct{ what, result string }

// settling begins a Settle.
func (r *restOracle) settling() {
	r.began, r.lastChange, r.writes = time.Now(), time.Now(), map[repeatable]int{}
}

// resume begins again in a Settle, when the program receives what it did not see.
func (r *restOracle) resume() { r.began, r.lastChange = time.Now(), time.Now() }

// deadline returns the time at which the program is at rest if it does not write before.
func (r *restOracle) deadline() time.Time { return r.lastChange.Add(r.period) }

// overdue reports whether the program has written for so long that it does not come to rest.
func (r *restOracle) overdue() bool { return time.Since(r.began) > maxRestPeriods*r.period }

// maxRestPeriods is the number of periods after which a program that still writes does not come to
// rest.
const maxRestPeriods = 10

func (r *restOracle) changed(write string) {
	r.lastChange = time.Now()
	r.count(write, "")
}

// count counts a write.
func (r *restOracle) count(write, result string) {
	if r.writes != nil {
		r.writes[repeatable{what: write, result: result}]++
	}
}

// changedOutside counts a write to an external service, which has changed something if it has
// changed Test.Outside. Otherwise it has the result.
func (r *restOracle) changedOutside(write, result string, outside canonical.State) {
	if len(canonical.Diff(r.outside, outside)) > 0 {
		r.changed(write)
	} else {
		r.count(write, result)
	}
	r.outside = outside
}

// repeated returns the writes that repeat, the most frequent first.
func (r *restOracle) repeated() string {
	writes := slices.SortedFunc(maps.Keys(r.writes), func(a, b repeatable) int {
		return cmp.Or(-cmp.Compare(r.writes[a], r.writes[b]), cmp.Compare(a.what, b.what), cmp.Compare(a.result, b.result))
	})
	var b strings.Builder
	for _, w := range writes[:min(len(writes), 5)] {
		if w.result == "" {
			fmt.Fprintf(&b, "  %d times %s\n", r.writes[w], w.what)
		} else {
			fmt.Fprintf(&b, "  %s, %d times: %s\n", w.result, r.writes[w], w.what)
		}
	}
	return b.String()
}
