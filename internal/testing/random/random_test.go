// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"regexp"
	"testing"
)

func TestSeedDeterminesTheDraws(t *testing.T) {
	draw := func(seed uint64) (text string) {
		run(t, seed, func(r *T) {
			for range 10 {
				r.Range("n", 0, 1000)
				From(r, "word", "a", "b")
				r.Bool("b")
			}
			text = string(r.drawn)
		})
		return text
	}
	if one, again, other := draw(1), draw(1), draw(2); one != again || one == other {
		t.Errorf("seed 1 drew %s\nand then %s\nseed 2 drew %s", one, again, other)
	}
}

// TestRangeHasItsEnds checks that a range is drawn from its low to its high end, which are likelier
// than the other numbers.
func TestRangeHasItsEnds(t *testing.T) {
	counts := make(map[int]int)
	run(t, 1, func(r *T) {
		for range 10_000 {
			counts[r.Range("n", -5, 94)]++
		}
	})
	if len(counts) != 100 || counts[-5] < 500 || counts[94] < 200 {
		t.Errorf("drawn: %v", counts)
	}
}

func TestCheckRunsEachRound(t *testing.T) {
	rounds, draws := 0, make(map[uint64]bool)
	Check(t, 20, func(r *T) {
		rounds++
		draws[r.Uint64()] = true
	})
	if *seedFlag == 0 && (rounds != 20 || len(draws) != 20) {
		t.Errorf("%d rounds with %d seeds", rounds, len(draws))
	}
}

// TestRepeatChecksEachStep counts the commands that run.
func TestRepeatChecksEachStep(t *testing.T) {
	const sequences = 200
	ran, checked, mayRun := 0, 0, false
	Check(t, sequences, func(r *T) {
		r.Repeat(map[string]func(*T){
			"other": func(*T) { ran++ },
			"switch": func(r *T) {
				if mayRun = !mayRun; !mayRun {
					r.Skip("not now")
				}
				ran++
			},
			"": func(*T) { checked++ },
		})
	})
	if *seedFlag == 0 && (ran < sequences*averageLength/2 || checked != ran+sequences) {
		t.Errorf("%d commands and %d checks in %d sequences", ran, checked, sequences)
	}
}

// TestFails fails in the processes that TestFailedRoundIsPrinted starts, which have an argument.
func TestFails(t *testing.T) {
	stop := map[string]func(r *T, n int){
		"Fatal": func(r *T, n int) { r.Fatal(n) },
		"Error": func(r *T, n int) { r.Error(n) },
		"panic": func(_ *T, n int) { panic(n) },
	}[flag.Arg(0)]
	if stop == nil {
		return
	}
	Check(t, 20, func(r *T) { // a sequence may be empty
		r.Repeat(map[string]func(*T){"stop": func(r *T) { stop(r, r.Range("n", 0, 1<<30)) }})
	})
}

// TestFailedRoundIsPrinted checks that a round which fails is the last one, and that the command
// that it prints repeats it.
func TestFailedRoundIsPrinted(t *testing.T) {
	printed := regexp.MustCompile(`go test -run='\^TestFails\$' (-random.seed=\d+)\n\s+drawn: commands: [1-9]\d*;\n\s+(1 stop: n: \d+;)\n`)
	for _, by := range []string{"Fatal", "Error", "panic"} {
		fail := func(seed string) []string {
			out, err := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFails$", seed, by).CombinedOutput()
			found := printed.FindAllStringSubmatch(string(out), -1)
			if err == nil || len(found) != 1 || bytes.Count(out, []byte("to repeat")) != 1 {
				t.Fatalf("%s: %v\n%s", by, err, out)
			}
			return found[0]
		}
		if first, again := fail("-random.seed=0"), fail("-random.seed=7"); first[0] == again[0] {
			t.Errorf("two seeds draw %s", first[0])
		} else if repeated := fail(first[1]); repeated[0] != first[0] {
			t.Errorf("%s; repeated: %s", first[0], repeated[0])
		}
	}
}
