// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate/internal/canonical"
)

// Test describes a program and what it is tested with. Start is required.
type Test struct {
	// Start runs the program until ctx is cancelled, and returns when all its goroutines have
	// ended. It must reach the API server by config alone, listen on no port, and install no signal
	// handler. It is called in each run, and again after a crash, or an error after a disturbance.
	Start func(ctx context.Context, config *rest.Config) error
	// Replicas is the number of times that Start is called at once. Zero means one.
	Replicas int

	// CustomResources are served in addition to the built-in resources.
	CustomResources []fake.CustomResource
	// Objects exist before Start is called. They are not changed.
	Objects []fake.Object
	// Steps changes the world while the program runs. It is called when the program is at rest, in
	// each run, and must do the same each time. The program comes to rest once more after it.
	Steps func(*World)
	// Cluster is the controllers and kubelets of the cluster: all or some of [Workloads], or the
	// test's own.
	Cluster []Actor

	// Disturb is the disturbances to try. Nil means all but BackInTime; see Disturbance.
	Disturb []Disturbance
	// Without switches oracles off.
	Without []Oracle
	// Invariants are called after each write of the program that has changed something. An error
	// fails the test.
	Invariants []func(Write) error
	// Ignore is fields in which end states may differ, such as
	// "status.conditions[*].lastTransitionTime", or "Pod status.podIP" for one kind. A write that
	// changes nothing else does not count for Rest.
	Ignore []string
	// Rest is the time without a write that changes anything, after which the program is at rest.
	// Zero means 20 minutes, which is longer than the longest delay of client-go's work queues. It
	// must be shorter than the period of a program that writes on a timer. It takes no time: the
	// bubble's clock advances when all goroutines are blocked.
	Rest time.Duration

	ignored canonical.Ignored
}

const defaultRest = 20 * time.Minute

// Run simulates a program, and fails the test if a run goes wrong: see the package's documentation.
// Of the 200 runs (or -simulate.runs), the first is undisturbed. Then come ten in other orders,
// each single disturbance, and random combinations. Run stops at the first failure, and prints the
// disturbances that the failure needs, the timeline, and the flag that repeats the run.
//
// Run sets GOMAXPROCS, GOGC and global variables of client-go while it runs. It fails in a parallel
// test, and the simulations of a test binary run one after the other.
func Run(t *testing.T, test Test) {
	t.Helper()
	withRunner(t, test, func(r *runner) {
		t.Helper()
		if *replayFlag != "" {
			p, err := parsePlan(*replayFlag)
			if err != nil {
				t.Fatalf("-simulate.replay: %v", err)
			}
			r.replay(p)
			return
		}
		began := time.Now()
		p, failed := r.search(*runsFlag, *seedFlag)
		if failed != nil {
			t.Logf("found in run %d", r.runs)
			r.report(r.shorten(p, failed))
			return
		}
		t.Logf("%d runs, %d of %d single disturbances; %d of %d planned disturbances happened; %d requests and events a run, %.0f runs a second\n"+
			"The program's writes in the undisturbed run:\n  %s",
			r.runs, min(max(r.runs-1-orders, 0), r.places), r.places, len(r.happened), r.planned, r.stimuli/r.runs,
			float64(r.runs)/time.Since(began).Seconds(), strings.Join(r.writes, "\n  "))
	})
}

// Replay executes one run, with the arguments that a failure has printed, and the undisturbed run
// that it is compared with. It fails the test if the run goes wrong.
func Replay(t *testing.T, test Test, seed uint64, disturbances ...Disturbance) {
	t.Helper()
	withRunner(t, test, func(r *runner) {
		t.Helper()
		r.replay(plan{seed: seed, disturbances: disturbances})
	})
}
