// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Found is the failure that a search has found. Its fields are empty if there is none.
type Found struct {
	Oracle, Text, Plan string
	Timeline           string // with every entry
	Report             string // the timeline as it is printed
	Runs               int
}

// lines returns the timeline with every entry.
func lines(r *record) string {
	var b strings.Builder
	for _, e := range r.timeline {
		b.WriteString(e.line().String())
	}
	return b.String()
}

// Find is like Run, and returns the failure instead of reporting it.
func Find(t *testing.T, test Test, runs int) Found {
	t.Helper()
	return FindWithSeed(t, test, runs, 1)
}

// FlagOfTest returns the flag that selects a test.
func FlagOfTest(t TestingT) string { return (&runner{t: t}).testFlag() }

// FindWithSeed is Find with a -simulate.seed.
func FindWithSeed(t *testing.T, test Test, runs int, seed uint64) (found Found) {
	t.Helper()
	withRunner(t, test, func(r *runner) {
		_, p, failed := r.search(&schedule{runs: runs, seed: seed})
		found.Runs = r.runs
		if failed != nil {
			p, failed = r.shorten(p, failed)
			found.Oracle, found.Text, found.Plan, found.Timeline = string(failed.failure.oracle), failed.failure.text, p.String(), lines(failed)
			found.Report = failed.timeline.String()
		}
	})
	return found
}

// RunPlan executes the undisturbed run and one more, and returns the failure of the latter.
func RunPlan(t *testing.T, test Test, seed uint64, disturbances ...Disturbance) (found Found) {
	t.Helper()
	withRunner(t, test, func(r *runner) {
		first := r.runUndisturbed()
		if first.failed() {
			t.Fatalf("the undisturbed run failed: %s", first.failure.text)
		}
		got := r.run(plan{seed: seed, disturbances: disturbances})
		r.check(&got, plan{seed: seed, disturbances: disturbances})
		found.Timeline, found.Report = lines(&got), got.timeline.String()
		if got.failed() {
			found.Oracle, found.Text = string(got.failure.oracle), got.failure.text
		}
	})
	return found
}

// RunOnce executes the undisturbed run alone, and returns its failure and its timeline.
func RunOnce(t *testing.T, test Test) (found Found) {
	t.Helper()
	withRunner(t, test, func(r *runner) {
		first := r.runUndisturbed()
		found.Timeline = lines(first)
		if first.failed() {
			found.Oracle, found.Text = string(first.failure.oracle), first.failure.text
		}
	})
	return found
}

// Plans returns the plans of a shard's runs, by number. The empty text is that of all runs.
func Plans(t *testing.T, text string, runs int, singles ...Disturbance) map[int]string {
	t.Helper()
	part, err := parseShard(text)
	if err != nil {
		t.Fatal(err)
	}
	s := &schedule{runs: runs, shard: part}
	s.begin(singles)
	plans := map[int]string{}
	for k, p := range s.plans() {
		plans[k] = p.String()
	}
	return plans
}

// CountRefusals returns the refusals that count after the answers to one request, by what it does.
func CountRefusals(method, uri, body string, codes ...int) map[string]int {
	refused := refusals{}
	for _, code := range codes {
		q := &request{http: httptest.NewRequest(method, uri, nil), body: []byte(body)}
		q.target = targetOf(q.http)
		refused.note(q, (&recorder{code: code}).refusal())
	}
	counts := map[string]int{}
	for what, r := range refused {
		counts[what] = r.count
	}
	return counts
}

// ShortenWatchdog sets the time after which a run without progress is stuck.
func ShortenWatchdog(period time.Duration) { shortWatchdogPeriod.Store(int64(period)) }

// WaitUntilAllAreBlocked waits until no other goroutine can run.
func WaitUntilAllAreBlocked() {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	newQuiescence().wait()
}

// Repeat executes the run that has failed n times, and returns how often it fails again by the same
// oracle.
func Repeat(t *testing.T, test Test, found Found, n int) (again int) {
	t.Helper()
	p, err := parsePlan(found.Plan)
	if err != nil {
		t.Fatal(err)
	}
	withRunner(t, test, func(r *runner) {
		r.runUndisturbed() // which may be the one that fails
		for range n {
			if failed := r.try(p); failed != nil && string(failed.failure.oracle) == found.Oracle {
				again++
			}
		}
	})
	return again
}

// NameExternal returns the name of a write to a path of the service "cloud" by a program that has
// written generated names.
func NameExternal(aliases map[string]string, path string) string {
	p := newPoints()
	p.aliases = aliases
	return p.external(target{verb: "PUT", resource: schema.GroupVersionResource{Resource: "cloud"}, name: path})
}

// ReadRoles returns the error of reading a test's roles.
func ReadRoles(test Test) error { return test.readPermissions() }

// ReadWebhooks reads the webhook configurations of a test.
func ReadWebhooks(test Test) (notes []string, err error) { return test.readWebhooks() }
