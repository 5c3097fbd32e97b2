// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package random runs the rounds of random tests. What a round draws depends on its seed alone. A
// round that fails prints what it has drawn, and the command that repeats it.
package random

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var seedFlag = flag.Uint64("random.seed", 0, "run one round of each random test, with this seed")

// T is one round of a test. What the methods of Rand draw is not printed.
type T struct {
	*testing.T
	*rand.Rand
	drawn   []byte // the text to print if the round fails
	steps   int
	skipped bool
}

// Check runs rounds of a test, each with another seed, up to one that fails.
func Check(t *testing.T, rounds int, round func(*T)) {
	t.Helper()
	if *seedFlag != 0 {
		rounds = 1
	}
	for n := 0; n < rounds && !t.Failed(); n++ {
		seed := *seedFlag
		if seed == 0 {
			seed = rand.Uint64()
		}
		run(t, seed, round)
	}
}

func run(t *testing.T, seed uint64, round func(*T)) {
	t.Helper()
	r := &T{T: t, Rand: rand.New(rand.NewPCG(seed, 0))}
	passed := false
	defer func() {
		if !passed || t.Failed() {
			name := strings.ReplaceAll(regexp.QuoteMeta(t.Name()), "/", "$/^")
			t.Logf("to repeat this round: go test -run='^%s$' -random.seed=%d\ndrawn:%s", name, seed, r.drawn)
		}
	}()
	round(r)
	passed = true
}

// Step begins a line of the text to print if the round fails.
func (t *T) Step(name string) {
	t.steps++
	t.drawn = fmt.Appendf(t.drawn, "\n%3d %s:", t.steps, name)
}

// Note adds a value to the text to print if the round fails.
func (t *T) Note(name string, value any) {
	t.drawn = fmt.Appendf(t.drawn, " %s: %#v;", name, value)
}

// Range draws a number. Those near low are likelier than others, and so is high.
func (t *T) Range(name string, low, high int) int {
	if high < low {
		panic(fmt.Sprintf("%s: empty range from %d to %d", name, low, high))
	}
	n := low + int(t.UpTo(uint64(high-low)))
	t.Note(name, n)
	return n
}

// Bool draws a boolean value.
func (t *T) Bool(name string) bool {
	value := t.IntN(2) == 1
	t.Note(name, value)
	return value
}

// From draws one of values, which must not be empty. The first ones are likelier than others, and
// so is the last one.
func From[E any](t *T, name string, values ...E) E {
	value := values[t.UpTo(uint64(len(values)-1))]
	t.Note(name, value)
	return value
}

// Length draws the length of a sequence, which is at most most. The mean is average if most is much
// larger.
func (t *T) Length(name string, average, most int) (n int) {
	for n < most && t.IntN(average+1) > 0 {
		n++
	}
	t.Note(name, n)
	return n
}

// UpTo draws a number from 0 to most as Range does, and does not print it. The number of its bits
// is drawn first.
func (t *T) UpTo(most uint64) uint64 {
	length, longest := 1, bits.Len64(most)
	for length < longest && t.IntN(9+longest/8) > 0 {
		length++
	}
	if t.IntN(40) == 0 {
		return most
	}
	for {
		if n := t.Uint64() >> (64 - length); n <= most {
			return n
		}
	}
}

// averageLength is that of the sequences of commands.
const averageLength = 30

// Repeat runs a random sequence of commands. It calls the command without a name, if there is one,
// at first and after each of the others.
func (t *T) Repeat(commands map[string]func(*T)) {
	t.Helper()
	names := slices.Sorted(maps.Keys(commands))
	check, ok := commands[""]
	if !ok {
		check = func(*T) {}
	} else {
		names = names[1:]
	}
	check(t)
	for range t.Length("commands", averageLength, math.MaxInt) {
		if t.Failed() {
			t.FailNow()
		}
		for ran := false; !ran; {
			name := names[t.UpTo(uint64(len(names)-1))]
			t.Step(name)
			ran = t.try(commands[name])
		}
		check(t)
	}
}

// Skip ends a command that cannot run now. Repeat draws another one.
func (t *T) Skip(reason ...any) {
	t.skipped = true
	panic(fmt.Sprintln(reason...))
}

func (t *T) try(command func(*T)) (ran bool) {
	t.skipped = false
	defer func() {
		if t.skipped {
			_ = recover()
			t.drawn = append(t.drawn, " skipped"...)
		}
	}()
	command(t)
	return true
}
