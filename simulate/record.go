// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"strings"
	"time"

	"github.com/kinformer/kinformer/simulate/internal/canonical"
)

// oracle is a rule that decides whether a run was correct.
type oracle string

const (
	oracleEndState   oracle = "end state"
	oracleOrder      oracle = "order"
	oracleRest       oracle = "rest"
	oracleStart      oracle = "start"
	oraclePanic      oracle = "panic"
	oracleGoroutines oracle = "goroutines"
	oracleInvariant  oracle = "invariant"
	oracleSteps      oracle = "steps"
)

// failure is a rule that a run has broken.
type failure struct {
	oracle oracle
	text   string
}

// record is what a run has done.
type record struct {
	began    time.Time
	stimuli  int
	points   []string          // the writes of the program
	states   []canonical.State // at the end of each Settle
	timeline []string
	failure  *failure // the first one
}

func (r *record) failed() bool { return r.failure != nil }

func (r *record) fail(o oracle, format string, args ...any) {
	if r.failure == nil {
		r.failure = &failure{oracle: o, text: fmt.Sprintf(format, args...)}
	}
}

// note adds a line to the timeline. Who is empty for what the scheduler does.
func (r *record) note(who, what string) {
	r.timeline = append(r.timeline, fmt.Sprintf("%10s  %-9s  %s", time.Since(r.began).Round(time.Millisecond), who, what))
}

// request adds a request and its result.
func (r *record) request(q *request, result string) {
	if q.target.resource.Empty() || q.target.isTraffic() {
		return
	}
	what := strings.TrimSpace(q.target.String() + "  " + result)
	if version := q.http.URL.Query().Get("resourceVersion"); version != "" {
		what += " at " + version
	}
	r.note(fmt.Sprintf("process %d", q.process.number), what)
}
