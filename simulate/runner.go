// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"context"
	"flag"
	"fmt"
	mathrand "math/rand" //nolint:depguard // whose global generator client-go draws from
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	utilrand "k8s.io/apimachinery/pkg/util/rand"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/simulate/internal/canonical"
)

var (
	runsFlag   = flag.Int("simulate.runs", intOf("SIMULATE_RUNS", 200), "number of runs of each simulation")
	replayFlag = flag.String("simulate.replay", os.Getenv("SIMULATE_REPLAY"), "the run to execute instead, as a failure prints it")
	seedFlag   = flag.Uint64("simulate.seed", uint64(intOf("SIMULATE_SEED", 1)), "seed of the simulations")
)

// intOf returns the number in an environment variable.
func intOf(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// simulating is held during a simulation: it changes settings of the process.
var simulating sync.Mutex

// runner executes the runs of one test.
type runner struct {
	t        *testing.T
	test     *Test
	mapper   mapper
	watchdog *watchdog
	current  atomic.Pointer[scheduler]
	limit    int               // of the load of a run
	want     []canonical.State // of the undisturbed run
	points   []string          // of the undisturbed run
	writes   []string          // of the undisturbed run
	places   int               // number of single disturbances
	happened []Disturbance     // in all runs
	planned  int               // number of disturbances of all runs
	runs     int
	stimuli  int
}

// gcPercent is the percentage of the garbage collector. By default it takes a fifth of a
// simulation's time, since the heap is small.
const gcPercent = 400

// withRunner calls do with the settings of the process that simulations need.
func withRunner(t *testing.T, test Test, do func(*runner)) {
	t.Helper()
	ignored, err := canonical.Ignore(test.Ignore)
	if err != nil {
		t.Fatal(err)
	}
	if test.Start == nil {
		t.Fatal("simulate: Test.Start is nil")
	}
	test.ignored = ignored
	if err := test.readPermissions(); err != nil {
		t.Fatalf("simulate: %v", err)
	}
	if test.Rest == 0 {
		test.Rest = defaultRest
	}
	godebug := os.Getenv("GODEBUG")
	if isParallel(t) {
		t.Fatal("simulate: a simulation sets GOMAXPROCS and global variables of the process: do not call t.Parallel in its test, or in a test that it is a subtest of")
	}
	simulating.Lock()
	defer simulating.Unlock()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	_ = os.Setenv("GODEBUG", godebug+",randseednop=0") // so that math/rand can be seeded; fails for an invalid name only
	defer func() { _ = os.Setenv("GODEBUG", godebug) }()
	defer seedGlobal(time.Now().UnixNano())
	r := &runner{t: t, test: &test, watchdog: startWatchdog(), limit: firstLimit + objectLimit*len(test.Objects)}
	defer r.watchdog.stop()
	defer r.interceptErrors()()
	do(r)
}

// isParallel reports whether a test, or one that it is a subtest of, has called t.Parallel.
func isParallel(t *testing.T) (parallel bool) {
	t.Helper()
	defer func() { parallel = recover() != nil }()
	t.Setenv("GODEBUG", os.Getenv("GODEBUG")) // panics in a parallel test
	return false
}

// interceptErrors makes the panics that client-go recovers failures of the run, and errors that it
// reports lines of the timeline. It silences klog. The returned function undoes it.
func (r *runner) interceptErrors() func() {
	panics, errs, crashes, logs := utilruntime.PanicHandlers, utilruntime.ErrorHandlers, utilruntime.ReallyCrash, klog.CaptureState()
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, cause any) {
		if s := r.current.Load(); s != nil {
			stack := debug.Stack()
			s.report(func() { s.record.fail(Panic, "a panic was recovered: %v\n%s", cause, stack) })
		}
	}}
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(_ context.Context, err error, message string, _ ...any) {
		if s := r.current.Load(); s != nil {
			s.report(func() { s.record.note("program", strings.TrimSpace(fmt.Sprintf("%s %v", message, err))) })
		}
	}}
	klog.SetLogger(klog.Logger{})
	return func() {
		utilruntime.PanicHandlers, utilruntime.ErrorHandlers, utilruntime.ReallyCrash = panics, errs, crashes
		logs.Restore()
	}
}

// run executes the test once, in a bubble of its own.
func (r *runner) run(p plan) (result record) {
	r.runs++
	defer func() {
		// The bubble panics if goroutines are left, of which shutDown has taken note.
		if cause := recover(); cause != nil && !strings.Contains(fmt.Sprint(cause), "blocked goroutines remain") {
			panic(cause)
		}
		r.stimuli += result.stimuli
		r.happened = append(r.happened, result.happened...)
		r.planned += len(p.disturbances)
	}()
	seedGlobal(int64(p.seed))
	completed := false
	synctest.Test(r.t, func(*testing.T) {
		s := newScheduler(r.test, p, r.limit, r.watchdog, &r.mapper)
		defer func() {
			result = s.record
			s.release()
		}()
		r.current.Store(s)
		defer r.current.Store(nil)
		s.run()
		completed = true
	})
	if !completed {
		r.t.FailNow() // as Steps has
	}
	return result
}

// seedGlobal seeds what client-go draws delays from, and the server generated names.
func seedGlobal(seed int64) {
	utilrand.Seed(seed)
	mathrand.Seed(seed) //nolint:staticcheck // there is no other way to repeat the delays of programs
}

// check compares a run with the undisturbed one.
func (r *runner) check(got *record, p plan) {
	if got.failed() {
		return
	}
	for i, want := range r.want {
		if i == len(got.states) {
			return
		}
		lines := canonical.Diff(want, got.states[i])
		if len(lines) == 0 {
			continue
		}
		difference := fmt.Sprintf("(settle %d):\n  %s", i+1, strings.Join(lines, "\n  "))
		if len(p.disturbances) == 0 {
			got.fail(Order, "the program ends in another state in another order of the same requests and events: it depends on order, "+
				"and this run or the undisturbed one is wrong %s\n%s\nand in this one:\n  %s",
				difference, r.undisturbedWrites(), strings.Join(got.writes, "\n  "))
			return
		}
		got.fail(EndState, "the program ends in another state than without the disturbance %s", difference)
		return
	}
}

// undisturbedWrites returns the program's writes in the undisturbed run as text.
func (r *runner) undisturbedWrites() string {
	if len(r.writes) == 0 {
		return "The program has written nothing in the undisturbed run: there was nothing to compare."
	}
	return "The program's writes in the undisturbed run:\n  " + strings.Join(r.writes, "\n  ")
}

// runUndisturbed executes the undisturbed run, which the others are compared with. It fails if the
// program can write nothing: then all runs would end alike.
func (r *runner) runUndisturbed() *record {
	first := r.run(plan{})
	r.want, r.points, r.writes = first.states, first.points, first.writes
	if len(first.writes) > 0 && first.accepted == 0 {
		first.fail(oracleSteps, "every write of the undisturbed run is refused")
	}
	if !first.failed() {
		r.limit = otherLimit + timesLimit*first.load
	}
	return &first
}

// orders is the number of undisturbed runs in other orders.
const orders = 10

// search executes runs until one fails or their number is reached. It returns the plan and the
// record of the one that failed.
func (r *runner) search(runs int, seed uint64) (plan, *record) {
	if first := r.runUndisturbed(); first.failed() {
		return plan{}, first
	}
	seed = max(seed, 1) // 0 is the order of arrival
	for i := uint64(0); i < orders && r.runs < runs; i++ {
		p := plan{seed: seed + i}
		if failed := r.try(p); failed != nil {
			return p, failed
		}
	}
	random := rand.New(rand.NewPCG(seed, 1))
	singles := r.singles()
	random.Shuffle(len(singles), func(i, j int) { singles[i], singles[j] = singles[j], singles[i] })
	r.places = len(singles)
	for i := 0; r.runs < runs && len(singles) > 0; i++ {
		p := r.planAt(i, singles, random)
		if failed := r.try(p); failed != nil {
			return p, failed
		}
	}
	return plan{}, r.unreached(r.test.Disturb)
}

// planAt returns the plan of the i-th disturbed run: first all single disturbances, then as many
// pairs, then one to four in a random order.
func (r *runner) planAt(i int, singles []Disturbance, random *rand.Rand) plan {
	if i < len(singles) {
		return plan{disturbances: singles[i : i+1]}
	}
	p, n := plan{}, 2
	if i >= 2*len(singles) {
		p.seed, n = 1+random.Uint64N(1_000_000), 1+random.IntN(4)
	}
	for _, j := range random.Perm(len(singles))[:min(n, len(singles))] {
		p.disturbances = append(p.disturbances, singles[j])
	}
	return p
}

// try executes a plan, and returns its record if it has failed.
func (r *runner) try(p plan) *record {
	got := r.run(p)
	r.check(&got, p)
	if got.failed() {
		return &got
	}
	return nil
}

// replay executes the undisturbed run and that of a plan, and reports the failure of either.
func (r *runner) replay(p plan) {
	r.t.Helper()
	if first := r.runUndisturbed(); first.failed() {
		r.report(plan{}, first)
		return
	}
	failed := r.try(p)
	if failed == nil {
		failed = r.unreached(p.disturbances)
	}
	if failed != nil {
		r.report(p, failed)
	}
}

// unreached returns the record of a failure if there is a disturbance whose place no run has
// reached.
func (r *runner) unreached(disturbances []Disturbance) *record {
	for _, d := range disturbances {
		if d.place() != "" && !slices.Contains(r.happened, d) {
			failed := &record{}
			failed.fail(oracleSteps, "%s has not happened: no run has this write. The writes of the undisturbed run are\n  %s", d, strings.Join(r.points, "\n  "))
			return failed
		}
	}
	return nil
}

// singles returns all single disturbances of the undisturbed run.
func (r *runner) singles() []Disturbance {
	disturb := r.test.Disturb
	if disturb == nil {
		disturb = everything()
	}
	var all []Disturbance
	for _, d := range disturb {
		all = append(all, d.at(r.points)...)
	}
	return all
}

// shorten returns the shortest plan, got by leaving parts of p out, that fails by the same oracle.
func (r *runner) shorten(p plan, failed *record) (plan, *record) {
	for i := 0; i < len(p.disturbances) && len(p.disturbances) > 1; {
		shorter := plan{seed: p.seed}
		shorter.disturbances = append(append(shorter.disturbances, p.disturbances[:i]...), p.disturbances[i+1:]...)
		if again := r.try(shorter); again != nil && again.failure.oracle == failed.failure.oracle {
			p, failed = shorter, again
			continue
		}
		i++
	}
	if p.seed != 0 && len(p.disturbances) > 0 {
		shorter := plan{disturbances: p.disturbances}
		if again := r.try(shorter); again != nil && again.failure.oracle == failed.failure.oracle {
			return shorter, again
		}
	}
	return p, failed
}

// repeats is the number of times that a failure is repeated before it is reported.
const repeats = 5

// announce prints the first line of a failure to the standard error: the test's time may end before
// the report.
func (r *runner) announce(p plan, failed *record) {
	first, _, _ := strings.Cut(failed.failure.text, "\n")
	fmt.Fprintf(os.Stderr, "%s: found in run %d: %s (-simulate.replay '%s')\n", r.t.Name(), r.runs, strings.TrimSuffix(first, ":"), p)
}

// report fails the test with a description of the run.
func (r *runner) report(p plan, failed *record) {
	r.t.Helper()
	if failed.failure.oracle == oracleSteps && p.seed == 0 && len(p.disturbances) == 0 {
		r.t.Errorf("%s\n\nTimeline:\n%s", failed.failure.text, failed.timeline)
		return
	}
	again, times := 0, repeats
	if failed.failure.oracle == Rest {
		times = 1 // such a run takes long
	}
	for range times {
		if repeated := r.try(p); repeated != nil && repeated.failure.oracle == failed.failure.oracle {
			again++
		}
	}
	r.t.Errorf("%s\n\nTimeline:\n%s\nReplay it by\n  simulate.Replay(t, test, %s)\nor by\n  go test -run '^%s$' -simulate.replay '%s'\nIt failed again in %d of %d repeats.",
		strings.TrimSpace(failed.failure.text), failed.timeline, p, r.t.Name(), p, again, times)
}
