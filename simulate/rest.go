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
	began      time.Time       // of the Settle in progress
	writes     map[string]int  // that changed something since began, by their targets
	outside    canonical.State // of Test.Outside, after the last write to an external service
}

// settling begins a Settle.
func (r *restOracle) settling() {
	r.began, r.lastChange, r.writes = time.Now(), time.Now(), map[string]int{}
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
	if r.writes != nil {
		r.writes[write]++
	}
}

// changedOutside counts a write to an external service if it has changed Test.Outside.
func (r *restOracle) changedOutside(write string, outside canonical.State) {
	if len(canonical.Diff(r.outside, outside)) > 0 {
		r.changed(write)
	}
	r.outside = outside
}

// repeated returns the writes that repeat, the most frequent first.
func (r *restOracle) repeated() string {
	names := slices.SortedFunc(maps.Keys(r.writes), func(a, b string) int {
		return cmp.Or(-cmp.Compare(r.writes[a], r.writes[b]), cmp.Compare(a, b))
	})
	var b strings.Builder
	for _, name := range names[:min(len(names), 5)] {
		fmt.Fprintf(&b, "  %d times %s\n", r.writes[name], name)
	}
	return b.String()
}
