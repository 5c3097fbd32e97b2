// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"context"
	"errors"
	"flag"
	"fmt"
	mathrand "math/rand" //nolint:depguard // whose global generator client-go draws from
	"os"
	"regexp"
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
	shardFlag  = flag.String("simulate.shard", os.Getenv("SIMULATE_SHARD"), "the part i/n of the runs to execute, such as 1/4")
)

// errEnvironment is that of the environment variables which flags are initialized with.
var errEnvironment error

// intOf returns the number in an environment variable.
func intOf(name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		errEnvironment = errors.Join(errEnvironment, fmt.Errorf("simulate: parse %s: %q is no number", name, text))
		return otherwise
	}
	return int(n)
}

// simulating is held during a simulation: it changes settings of the process.
var simulating sync.Mutex

// runner executes the runs of one test.
type runner struct {
	t        TestingT
	bubble   *testing.T // that bubbles have
	test     *Test
	mapper   mapper
	watchdog *watchdog
	current  atomic.Pointer[scheduler]
	limit    int               // of the load of a run
	want     []canonical.State // of the undisturbed run
	points   []string          // of the undisturbed run
	writes   []string          // of the undisturbed run
	happened []Disturbance     // in all runs
	planned  int               // number of disturbances of all runs
	runs     int
	stimuli  int
}

// gcPercent is the percentage of the garbage collector. By default it takes a fifth of a
// simulation's time, since the heap is small.
const gcPercent = 400

// withRunner calls do with the settings of the process that simulations need.
func withRunner(t TestingT, test Test, do func(*runner)) {
	t.Helper()
	if errEnvironment != nil {
		t.Fatalf("%v", errEnvironment)
	}
	ignored, err := canonical.Ignore(test.Ignore)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if test.Start == nil {
		t.Fatalf("simulate: Test.Start is nil")
	}
	test.ignored = ignored
	if err := test.readPermissions(); err != nil {
		t.Fatalf("simulate: %v", err)
	}
	notes, err := test.readWebhooks()
	if err != nil {
		t.Fatalf("simulate: %v", err)
	}
	for _, note := range notes {
		t.Logf("%s", note)
	}
	if test.Rest == 0 {
		test.Rest = defaultRest
	}
	godebug := os.Getenv("GODEBUG")
	if isParallel(t) {
		t.Fatalf("simulate: a simulation sets GOMAXPROCS and global variables of the process: do not call t.Parallel in its test, or in a test that it is a subtest of")
	}
	simulating.Lock()
	defer simulating.Unlock()
	bubble, end := bubbleTest(t)
	defer end()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	_ = os.Setenv("GODEBUG", godebug+",randseednop=0") // so that math/rand can be seeded; fails for an invalid name only
	defer func() { _ = os.Setenv("GODEBUG", godebug) }()
	defer seedGlobal(time.Now().UnixNano())
	r := &runner{t: t, bubble: bubble, test: &test, watchdog: startWatchdog(), limit: firstLimit + objectLimit*len(test.Objects)}
	defer r.watchdog.stop()
	defer r.interceptErrors()()
	do(r)
}

// isParallel reports whether a test, or one that it is a subtest of, has called t.Parallel.
func isParallel(t TestingT) (parallel bool) {
	t.Helper()
	of, ok := t.(*testing.T)
	if !ok {
		return false
	}
	defer func() { parallel = recover() != nil }()
	of.Setenv("GODEBUG", os.Getenv("GODEBUG")) // panics in a parallel test
	return false
}

// interceptErrors makes the panics that client-go recovers failures of the run, and errors that it
// reports lines of the timeline. It silences klog. The returned function undoes it.
func (r *runner) interceptErrors() func() {
	panics, errs, crashes, logs := utilruntime.PanicHandlers, utilruntime.ErrorHandlers, utilruntime.ReallyCrash, klog.CaptureState()
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, cause any) {
		if s := r.current.Load(); s != nil {
			stack := string(debug.Stack())
			s.report(func() { s.record.failWithStacks(Panic, []string{stack}, "a panic was recovered: %v", cause) })
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

// run executes the test once, in a bubble of its own. The bubble has a goroutine of its own, too,
// so that a run without progress can be abandoned.
func (r *runner) run(p plan) (result record) {
	r.t.Helper()
	r.runs++
	seedGlobal(int64(p.seed))
	var completed bool
	var panicked any
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			// The bubble panics if goroutines are left, of which shutDown has taken note.
			if cause := recover(); cause != nil && !strings.Contains(fmt.Sprint(cause), "blocked goroutines remain") {
				panic(cause)
			}
		}()
		synctest.Test(r.bubble, func(*testing.T) { result, completed, panicked = r.runInBubble(p) })
	}()
	select {
	case <-ended:
	case s := <-r.watchdog.stuck:
		r.abandon(p, s)
	}
	if panicked != nil {
		panic(panicked)
	}
	if !completed {
		r.t.FailNow() // as Steps has
	}
	r.stimuli += result.stimuli
	r.happened = append(r.happened, result.happened...)
	r.planned += len(p.disturbances)
	return result
}

// runInBubble executes the test once, in a goroutine that functions of the test may end. It reports
// whether none has, and returns what one has panicked with, if the test is not of package testing:
// a failure of Ginkgo does.
func (r *runner) runInBubble(p plan) (result record, completed bool, panicked any) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s := newScheduler(r.test, p, r.limit, r.watchdog, &r.mapper)
		defer func() {
			result = s.record
			s.release()
		}()
		r.current.Store(s)
		defer r.current.CompareAndSwap(s, nil)
		if r.bubble != r.t {
			defer func() { panicked = recover() }()
		}
		s.run()
		completed = true
	}()
	<-ended
	return result, completed, panicked
}

// abandon ends the test of a run without progress, whose goroutines stay blocked. If one of them
// runs without end, it ends the process.
func (r *runner) abandon(p plan, s *stuck) {
	r.t.Helper()
	text := fmt.Sprintf("the run has made no progress for %v: %s\n\n%s%s\nThe run is %s",
		s.period, s.why, programFrames(s.stacks), r.writeStacks(s.stacks), r.replayFlag(p))
	if s.busy {
		fmt.Fprintf(os.Stderr, "--- FAIL: %s\n%s\nThe goroutine cannot be stopped, and no other simulation could run beside it: later tests of the package did not run.\n", r.t.Name(), text)
		os.Exit(1) //nolint:forbidigo // package testing has no way to end a test whose goroutine runs on
	}
	if current := r.current.Swap(nil); current != nil {
		current.abandoned.Store(true)
	}
	r.t.Fatalf("%s", text)
}

// writeStacks writes stacks to a file, and returns a line that names it. The file outlives the
// test: it is in the test's folder of artifacts if -artifacts is set, and in that of temporary
// files otherwise.
func (r *runner) writeStacks(stacks []string) string {
	dir := ""
	if t, ok := r.t.(interface{ ArtifactDir() string }); ok && isSet("test.artifacts") {
		dir = t.ArtifactDir()
	}
	file, err := os.CreateTemp(dir, "simulate-*.stacks")
	if err == nil {
		_, err = file.WriteString(strings.Join(stacks, "\n\n"))
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return fmt.Sprintf("\nThe whole stacks are lost: %v", err)
	}
	return "\nThe whole stacks are in " + file.Name()
}

// isSet reports whether a flag without a value is set.
func isSet(name string) bool {
	f := flag.Lookup(name)
	return f != nil && f.Value.String() == "true"
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
		return "The program has written nothing in the undisturbed run."
	}
	return "The program's writes in the undisturbed run:\n  " + strings.Join(r.writes, "\n  ")
}

// runUndisturbed executes the undisturbed run, which the others are compared with. It fails if the
// program writes nothing, or can write nothing: then all runs would end alike.
func (r *runner) runUndisturbed() *record {
	r.t.Helper()
	first := r.run(plan{})
	r.want, r.points, r.writes = first.states, first.points, first.writes
	switch {
	case len(first.writes) > 0 && first.accepted == 0:
		first.fail(oracleSteps, "every write of the undisturbed run is refused")
	case len(first.writes) == 0 && r.test.Outside == nil && !slices.Contains(r.test.Without, EndState):
		first.fail(oracleSteps, "the program has written nothing in the undisturbed run: there is nothing to compare. "+
			"Let Objects and Steps make it write, return by Outside what it does elsewhere, or, if it must write nothing, switch off the oracle simulate.EndState")
	}
	if !first.failed() {
		r.limit = otherLimit + timesLimit*first.load
	}
	return &first
}

// search executes the runs of a shard until one fails. It returns the number, plan and record of
// the one that failed. The undisturbed run, which has number 0, is executed in each shard.
func (r *runner) search(s *schedule) (number int, p plan, failed *record) {
	r.t.Helper()
	if first := r.runUndisturbed(); first.failed() {
		return 0, plan{}, first
	}
	s.begin(r.singles())
	for k, p := range s.plans() {
		if failed := r.try(p); failed != nil {
			return k, p, failed
		}
	}
	return 0, plan{}, r.unreached(s.decided(r.test.Disturb))
}

// try executes a plan, and returns its record if it has failed.
func (r *runner) try(p plan) *record {
	r.t.Helper()
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
	r.t.Helper()
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
func (r *runner) announce(number int, p plan, failed *record) {
	first, _, _ := strings.Cut(failed.failure.text, "\n")
	fmt.Fprintf(os.Stderr, "%s: found in run %d: %s (%s)\n", r.t.Name(), number+1, strings.TrimSuffix(first, ":"), r.replayFlag(p))
}

func (r *runner) replayFlag(p plan) string { return fmt.Sprintf("-simulate.replay '%s'", p) }

// report fails the test with a description of the run.
func (r *runner) report(p plan, failed *record) {
	r.t.Helper()
	text := strings.TrimSpace(failed.failure.text)
	if len(failed.failure.stacks) > 0 {
		text += r.writeStacks(failed.failure.stacks)
	}
	if failed.failure.oracle == oracleSteps && p.seed == 0 && len(p.disturbances) == 0 {
		r.t.Errorf("%s\n\nTimeline:\n%s", text, failed.timeline)
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
	r.t.Errorf("%s\n\nTimeline:\n%s\nReplay it by\n  simulate.Replay(t, test, %s)\nor by\n  go test %s %s\nIt failed again in %d of %d repeats.",
		text, failed.timeline, p, r.testFlag(), r.replayFlag(p), again, times)
}

// testFlag returns the flag that selects the test.
func (r *runner) testFlag() string {
	name := strings.ReplaceAll(regexp.QuoteMeta(r.t.Name()), "'", ".")
	if flag.Lookup("ginkgo.focus") != nil {
		return fmt.Sprintf("-ginkgo.focus '^%s$'", name)
	}
	return fmt.Sprintf("-run '^%s$'", strings.ReplaceAll(name, "/", "$/^"))
}
