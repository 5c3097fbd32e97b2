package model_test

import (
	"slices"
	"testing"
)

// maxAttempts bounds the number of programs that shrink runs.
const maxAttempts = 500

// shrink removes steps from a program that fails for as long as it still fails, and makes it fail
// with ever smaller parts (delta debugging). Programs need not fail each time: delays are random.
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
