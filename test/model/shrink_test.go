// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"
)

// maxAttempts bounds the number of programs that shrink runs.
const maxAttempts = 500

// shrink removes steps from a program that fails for as long as it still fails, and makes it fail
// with ever smaller parts (delta debugging).
func shrink(steps []step, fails func([]step) bool) []step {
	attempts := 0
	for size := len(steps) / 2; size > 0; {
		shorter, ok := removePart(steps, size, func(candidate []step) bool {
			attempts++
			return attempts <= maxAttempts && fails(candidate)
		})
		if steps = shorter; !ok || size > len(steps) {
			size /= 2
		}
	}
	return steps
}

// removePart removes parts of a size without which the program still fails, and reports whether
// there was one.
func removePart(steps []step, size int, fails func([]step) bool) (shorter []step, ok bool) {
	for from := len(steps) - size; from >= 0; from -= size {
		candidate := slices.Delete(slices.Clone(steps), from, from+size)
		if fails(candidate) {
			steps, ok = candidate, true
		}
	}
	return steps, ok
}

// shrinkProgram removes steps, and then makes options, keys, durations, faults and handlers as
// simple as possible.
func shrinkProgram(p program, fails func(program) bool) program {
	withSteps := func(steps []step) bool { return fails(program{p.Options, steps}) }
	p.Steps = shrink(p.Steps, withSteps)
	for _, simplify := range simplifications(p) {
		candidate := clone(p)
		simplify(&candidate)
		if mustJSON(candidate) != mustJSON(p) && fails(candidate) {
			p = candidate
		}
	}
	p.Steps = shrink(p.Steps, withSteps)
	return p
}

func clone(p program) (c program) {
	if err := json.Unmarshal([]byte(mustJSON(p)), &c); err != nil {
		panic(err)
	}
	return c
}

// simplifications returns functions that each make one part of a program simpler.
func simplifications(p program) (all []func(*program)) {
	for i := range reflect.TypeFor[options]().NumField() {
		all = append(all, func(p *program) { setZero(p, i) })
	}
	for _, key := range keys[1:] {
		all = append(all, func(p *program) { mergeKey(p, key) })
	}
	for n := range p.Steps {
		for i := range reflect.TypeFor[step]().NumField() {
			all = append(all, func(p *program) { simplifyStep(&p.Steps[n], i) })
		}
		all = append(all, simplifyParts(n)...)
	}
	return all
}

// setZero sets a field of the options to its zero value, to the smallest version, or to one
// replica.
func setZero(p *program, field int) {
	o := &p.Options
	reflect.ValueOf(o).Elem().Field(field).SetZero()
	o.Start, o.Replicas = max(1, o.Start), max(1, o.Replicas)
	for i := range p.Steps {
		switch s := &p.Steps[i]; s.Op {
		case opSwitch, opLag, opCatchUp:
			s.N = min(s.N, o.Replicas-1)
		case opCompact:
			s.N = min(s.N, o.Replicas)
		}
	}
}

// mergeKey replaces a key by the first one.
func mergeKey(p *program, key string) {
	for i := range p.Steps {
		if p.Steps[i].Key == key {
			p.Steps[i].Key = keys[0]
		}
	}
}

// simplifyStep sets a field of a step to the simplest value that it may have.
func simplifyStep(s *step, field int) {
	switch reflect.TypeFor[step]().Field(field).Name {
	case "N":
		s.N = min(s.N, 1)
	case "Bad":
		s.Bad = ""
	case "NoWait":
		s.NoWait = false
	case "For":
		s.For = min(s.For, time.Second)
	}
}

// simplifyParts returns functions that simplify the handler and the fault of a step.
func simplifyParts(n int) (all []func(*program)) {
	for i := range reflect.TypeFor[handlerSpec]().NumField() {
		all = append(all, func(p *program) {
			if h := p.Steps[n].Handler; h != nil {
				before := *h
				reflect.ValueOf(h).Elem().Field(i).SetZero()
				if h.Kind == "" {
					h.Kind = kindEvent
				}
				if h.Pace == "" {
					h.Pace = paceFast
				}
				h.Every = min(before.Every, max(1, h.Every))
			}
		})
	}
	return append(all, func(p *program) {
		if f := p.Steps[n].Fault; f != nil {
			f.Times = 1
		}
	}, func(p *program) {
		if f := p.Steps[n].Fault; f != nil {
			f.After = 0
		}
	})
}

func TestShrinkKeepsStepsThatFail(t *testing.T) {
	needed := []int{3, 4, 17, 29}
	var steps []step
	for i := range 30 {
		steps = append(steps, step{N: i})
	}
	shrunk := shrink(steps, func(candidate []step) bool {
		for _, n := range needed {
			if !slices.ContainsFunc(candidate, func(s step) bool { return s.N == n }) {
				return false
			}
		}
		return true
	})
	for i, s := range shrunk {
		if len(shrunk) != len(needed) || s.N != needed[i] {
			t.Fatalf("shrunk to %v, want %v", shrunk, needed)
		}
	}
}

// TestShrinkSimplifiesAllParts shrinks a program that fails as long as it has a certain fault.
func TestShrinkSimplifiesAllParts(t *testing.T) {
	p := program{
		options{Adapter: true, Packed: true, Resync: time.Minute, Start: 997, Replicas: 3, Procs: 2},
		[]step{
			{Op: opPut, Key: "c/z", N: 5, Bad: badSkip, NoWait: true},
			{Op: opAdd, Handler: &handlerSpec{Kind: kindBatch, Pace: paceExit, Every: 3, Resync: time.Minute, WithoutOld: true}},
			{Op: opFault, Fault: &fault{Kind: faultClose, Target: targetWatch, Times: -1, After: 3}},
			{Op: opLag, N: 2},
		},
	}
	before := mustJSON(p)
	shrunk := shrinkProgram(p, func(p program) bool {
		return p.Options.Packed && len(p.Steps) == 4 && p.Steps[1].Handler.Kind == kindBatch
	})
	want := `{"Options":{"Packed":true,"Start":1,"Replicas":1},"Steps":[{"Op":"put","Key":"a/x","N":1},` +
		`{"Op":"add handler","Handler":{"Kind":"batch","Pace":"fast","Every":1}},` +
		`{"Op":"fault","Fault":{"Kind":"closed","Target":"watch","Times":1}},{"Op":"lag"}]}`
	if got := mustJSON(shrunk); got != want || mustJSON(p) != before {
		t.Errorf("shrunk to %s, want %s", got, want)
	}
}
