// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/features"
	"k8s.io/klog/v2"
)

var (
	firstSeed       = flag.Uint64("model.seed", 1, "the first seed")
	programFile     = flag.String("model.program", "", "the file of a program for TestReplay, as in testdata/seeds.json")
	programs        = flag.Uint64("model.programs", 700, "the number of programs, one of each seed from the first on")
	survey          = flag.Bool("model.survey", false, "go on after a violation, and print only the seeds that have one")
	servedResources = flag.Bool("model.served", true, "programs whose resource may not be served")
	pairsFile       = flag.String("model.pairs", "", "a file for the number of programs with each pair and triple of faults")
)

func TestMain(m *testing.M) {
	// The number of programs of the other random tests. The command line may still set it.
	if err := flag.Set("rapid.checks", "250"); err != nil {
		panic(err)
	}
	flag.Parse()
	debug.SetGCPercent(400) // programs leave much garbage and need little memory
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = nil
	// One of these limits the rate of errors, by a sleep until the time outside the bubble.
	utilruntime.ErrorHandlers = nil //nolint:reassign // client-go has no other way
	klog.SetLogger(logr.Discard())
	features.ReplaceFeatureGates(&watchListClient)
	os.Exit(m.Run())
}

// saved is a program of testdata/seeds.json. It found a bug, or one that was made on purpose.
type saved struct {
	Bug     string
	Seed    uint64 // from which the program was generated, before its steps were removed
	Program program
}

// repetitions is how often each saved program runs: steps with NoWait may meet another order of the
// goroutines each time.
const repetitions = 5

// TestProgramsThatFoundBugs runs the programs of testdata/seeds.json.
func TestProgramsThatFoundBugs(t *testing.T) {
	var all []saved
	readJSON(t, "testdata/seeds.json", &all)
	for _, s := range all {
		t.Run(s.Bug, func(t *testing.T) {
			for range repetitions {
				check(t, s.Seed, s.Program, new(summary))
			}
		})
	}
}

// TestReplay runs the program of -model.program and prints what happens.
func TestReplay(t *testing.T) {
	if *programFile == "" {
		t.Skip("without -model.program")
	}
	text, err := os.ReadFile(*programFile)
	var s saved
	if err == nil {
		err = errors.Join(json.Unmarshal(text, &s), json.Unmarshal(text, &s.Program))
	}
	if err != nil || len(s.Program.Steps) == 0 {
		t.Fatalf("%d steps: %v", len(s.Program.Steps), err)
	}
	x := executeInTime(t, s.Program, true)
	t.Log("\n" + strings.Join(x.lines, "\n"))
	if x.violation != nil {
		t.Fatal(x.violation)
	}
}

// TestReplayIsTheSame runs programs twice. Without NoWait, and on one processor, nothing but the
// order of handlers, which are independent, differs, unless a goroutine is preempted. Without
// seeded delays nearly all differ.
func TestReplayIsTheSame(t *testing.T) {
	const n = 60
	different := 0
	for seed := range uint64(n) {
		p := generate(seed)
		p.Options.Procs, p.Options.Wire = 1, ""
		for i := range p.Steps {
			p.Steps[i].NoWait = false
		}
		first, second := executeInTime(t, p, true).lines, executeInTime(t, p, true).lines
		slices.Sort(first)
		slices.Sort(second)
		if !slices.Equal(first, second) {
			different++
		}
	}
	if different > n/3 {
		t.Errorf("%d of %d programs ran differently", different, n)
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

// TestInformerFollowsModel runs a program of each seed. Enough programs must have each fault,
// operation, option and kind of handler.
func TestInformerFollowsModel(t *testing.T) {
	var total summary
	seed, end := *firstSeed, *firstSeed+*programs
	defer func() {
		if t.Failed() && seed < end { // by a violation, or by a data race
			t.Logf("to go on after it: make stress SEED=%d N=%d", seed+1, end-seed-1)
		}
	}()
	for ; seed < end; seed++ {
		check(t, seed, generate(seed), &total)
	}
	t.Log(total.String())
	if err := total.writePairs(*pairsFile); err != nil {
		t.Error(err)
	}
	if missing := total.missing(); len(missing) > 0 && *programs >= enoughPrograms {
		t.Errorf("no program has had: %s", strings.Join(missing, "; "))
	}
}

// check runs the program of a seed. If it fails, check reports a simpler one that fails, too.
func check(t *testing.T, seed uint64, p program, total *summary) {
	t.Helper()
	x := executeInTime(t, p, false)
	total.add(x)
	if x.violation == nil {
		return
	}
	if *survey {
		t.Errorf("seed %d: %.300s", seed, x.violation)
		return
	}
	shrunk := shrinkProgram(p, func(p program) bool {
		again := executeInTime(t, p, false).violation
		return again != nil && again.invariant == x.violation.invariant
	})
	t.Logf("violated by seed %d", seed)
	report(t, x.violation, shrunk)
}

// patience is far longer than a program takes, also with a flood and on a busy machine.
const patience = 5 * time.Minute

// executeInTime ends the process if a program hangs.
func executeInTime(t *testing.T, p program, verbose bool) *execution {
	t.Helper()
	hung := time.AfterFunc(patience, func() { panic("this program hangs: " + mustJSON(p)) })
	defer hung.Stop()
	return execute(t, p, verbose)
}

// report reports a violation, the timeline of a program that shows it, and how to run it again.
func report(t *testing.T, first *violation, p program) {
	t.Helper()
	var x *execution
	for range 20 {
		if x = executeInTime(t, p, true); x.violation != nil && x.violation.invariant == first.invariant {
			break
		}
	}
	path := filepath.Join(os.TempDir(), "model-program.json")
	if err := os.WriteFile(path, []byte(mustJSON(p)), 0o600); err != nil {
		t.Log(err)
	}
	t.Fatalf("%v\n\nwith a simpler program: %v\n%s\n\n%s\n\nto run it again: go -C test test ./model -race -v -run=TestReplay -model.program=%s",
		first, x.violation, mustJSON(p), strings.Join(x.lines, "\n"), path)
}
