package model_test

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

var (
	firstSeed = flag.Uint64("model.seed", 1, "the first seed")
	programs  = flag.Uint64("model.programs", 5000, "the number of programs, one of each seed from the first on")
)

func TestMain(m *testing.M) {
	flag.Parse()
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = nil
	utilruntime.ErrorHandlers = nil // one of which limits the rate of errors, by a sleep until the time outside the bubble
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// saved is a program of testdata/seeds.json. It found a bug, or one that was made on purpose.
type saved struct {
	Bug     string
	Seed    uint64 // from which the program was generated, before its steps were removed
	Program program
}

// repetitions is how often each saved program runs: the delays of the informer are random.
const repetitions = 5

// TestProgramsThatFoundBugs runs the programs of testdata/seeds.json.
func TestProgramsThatFoundBugs(t *testing.T) {
	var all []saved
	readJSON(t, "testdata/seeds.json", &all)
	for _, s := range all {
		t.Run(s.Bug, func(t *testing.T) {
			for range repetitions {
				check(t, s.Program, new(summary))
			}
		})
	}
}

// readJSON reads a list from a file. It must not be empty.
func readJSON[V any](t *testing.T, path string, list *[]V) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, list)
	}
	if err != nil || len(*list) == 0 {
		t.Fatalf("%s has %d entries: %v", path, len(*list), err)
	}
}

// TestInformerFollowsModel runs a program of each seed.
func TestInformerFollowsModel(t *testing.T) {
	var total summary
	seed := *firstSeed
	defer func() {
		if t.Failed() { // by a violation, or by a data race
			t.Logf("-model.seed=%d -model.programs=1", seed)
		}
	}()
	for ; seed < *firstSeed+*programs; seed++ {
		check(t, generate(seed), &total)
	}
	t.Log(total)
}

// check runs a program. If it fails, check reports the steps that it needs to fail.
func check(t *testing.T, p program, total *summary) {
	t.Helper()
	x := executeInTime(t, p, false)
	total.add(x)
	if x.violation == nil {
		return
	}
	shrunk := shrink(p.Steps, func(steps []step) bool {
		again := executeInTime(t, program{p.Options, steps}, false).violation
		return again != nil && again.invariant == x.violation.invariant
	})
	report(t, x.violation, program{p.Options, shrunk})
}

// executeInTime ends the process if a program hangs.
func executeInTime(t *testing.T, p program, verbose bool) *execution {
	t.Helper()
	hung := time.AfterFunc(time.Minute, func() { panic("this program hangs: " + encode(p)) })
	defer hung.Stop()
	return execute(t, p, verbose)
}

// report reports a violation and the timeline of a program that shows it.
func report(t *testing.T, first *violation, p program) {
	t.Helper()
	var x *execution
	for range 20 {
		if x = executeInTime(t, p, true); x.violation != nil && x.violation.invariant == first.invariant {
			break
		}
	}
	t.Fatalf("%v\n\nwith fewer steps: %v\n%s\n\n%s", first, x.violation, encode(p), strings.Join(x.lines, "\n"))
}

func encode(p program) string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return string(text)
}
