// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"testing"
	"time"
)

// Run simulates a program, and fails the test if a run goes wrong: see the package's documentation.
// Of the 200 runs (or -simulate.runs), the first is undisturbed. Then come ten in other orders,
// each single disturbance, and random combinations. Run stops at the first failure, prints its
// first line to the standard error, and reports the disturbances that the failure needs, the
// timeline, and the flag that repeats the run.
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
			r.announce(p, failed)
			t.Logf("found in run %d", r.runs)
			r.report(r.shorten(p, failed))
			return
		}
		t.Logf("%d runs, %d of %d single disturbances; %d of %d planned disturbances happened; %d requests and events a run, %.0f runs a second\n%s",
			r.runs, min(max(r.runs-1-orders, 0), r.places), r.places, len(r.happened), r.planned, r.stimuli/r.runs,
			float64(r.runs)/time.Since(began).Seconds(), r.undisturbedWrites())
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
