// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import "time"

// TestingT is what Run needs of a test. *testing.T and what GinkgoT returns implement it.
type TestingT interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	FailNow()
}

// Run simulates a program, and fails the test if a run goes wrong: see the package's documentation.
// Of the 200 runs (or -simulate.runs), the first is undisturbed. Then come ten in other orders,
// each single disturbance, and random combinations. Run stops at the first failure, prints its
// first line to the standard error, and reports the disturbances that the failure needs, the
// timeline, and the flag that repeats the run. With -simulate.shard i/n, it executes the first run
// and an nth of the others.
//
// Run sets GOMAXPROCS, GOGC and global variables of client-go while it runs. It fails in a parallel
// test, and the simulations of a test binary run one after the other.
func Run(t TestingT, test Test) {
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
		part, err := parseShard(*shardFlag)
		if err != nil {
			t.Fatalf("simulate: parse SIMULATE_SHARD: %v", err)
		}
		s := &schedule{runs: *runsFlag, seed: *seedFlag, shard: part}
		began := time.Now()
		number, p, failed := r.search(s)
		if failed != nil {
			r.announce(number, p, failed)
			t.Logf("found in run %d of %d", number+1, s.runs)
			r.report(r.shorten(p, failed))
			return
		}
		t.Logf("%s; %d of %d planned disturbances happened; %d requests and events a run, %.0f runs a second\n%s",
			s.describe(r.runs), len(r.happened), r.planned, r.stimuli/r.runs,
			float64(r.runs)/time.Since(began).Seconds(), r.undisturbedWrites())
	})
}

// Replay executes one run, with the arguments that a failure has printed, and the undisturbed run
// that it is compared with. It fails the test if the run goes wrong.
func Replay(t TestingT, test Test, seed uint64, disturbances ...Disturbance) {
	t.Helper()
	withRunner(t, test, func(r *runner) {
		t.Helper()
		r.replay(plan{seed: seed, disturbances: disturbances})
	})
}
