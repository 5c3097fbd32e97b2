// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// schedule decides which runs a simulation has: run 0 is undisturbed, the next ones are in other
// orders, then come all single disturbances, and then combinations of them. The run of a number is
// the same in each shard.
type schedule struct {
	runs  int
	seed  uint64
	shard shard

	random  *rand.Rand
	singles []Disturbance // in the order in which they are tried
}

// orders is the number of undisturbed runs in other orders.
const orders = 10

// begin sets the single disturbances of the undisturbed run.
func (s *schedule) begin(singles []Disturbance) {
	s.seed = max(s.seed, 1) // 0 is the order of arrival
	s.random = rand.New(rand.NewPCG(s.seed, 1))
	s.singles = slices.Clone(singles)
	s.random.Shuffle(len(singles), func(i, j int) { s.singles[i], s.singles[j] = s.singles[j], s.singles[i] })
}

// plans returns the numbers and plans of the shard's runs, but for run 0.
func (s *schedule) plans() iter.Seq2[int, plan] {
	return func(yield func(int, plan) bool) {
		for k := 1; k < s.runs; k++ {
			p, ok := s.next(k) // which draws numbers, also for another shard
			if !ok || s.shard.has(k) && !yield(k, p) {
				return
			}
		}
	}
}

// next returns the plan of run k. It is called for each k from 1, in order. It returns false if
// there is nothing left to try.
func (s *schedule) next(k int) (plan, bool) {
	if k <= orders {
		return plan{seed: s.seed + uint64(k-1)}, true
	}
	i := k - 1 - orders
	if len(s.singles) == 0 {
		return plan{}, false
	}
	if i < len(s.singles) {
		return plan{disturbances: s.singles[i : i+1]}, true
	}
	p, n := plan{}, 2
	if i >= 2*len(s.singles) {
		p.seed, n = 1+s.random.Uint64N(1_000_000), 1+s.random.IntN(4)
	}
	for _, j := range s.random.Perm(len(s.singles))[:min(n, len(s.singles))] {
		p.disturbances = append(p.disturbances, s.singles[j])
	}
	return p, true
}

// describe says which part of the schedule n runs were.
func (s *schedule) describe(n int) string {
	tried, here := 0, 0
	for i := range s.singles {
		if k := 1 + orders + i; k < s.runs {
			tried++
			if s.shard.has(k) {
				here++
			}
		}
	}
	if s.shard.of == 0 {
		return fmt.Sprintf("%d runs, %d of %d single disturbances", n, tried, len(s.singles))
	}
	return fmt.Sprintf("shard %v: %d of %d runs (the undisturbed one is in each shard), %d of %d single disturbances (%d in all shards)",
		s.shard, n, s.runs, here, len(s.singles), tried)
}

// decided returns those of disturbances of which the runs of the shard decide whether they happen:
// those that another shard tries are left to it.
func (s *schedule) decided(disturbances []Disturbance) []Disturbance {
	return slices.DeleteFunc(slices.Clone(disturbances), func(d Disturbance) bool {
		k := 1 + orders + slices.Index(s.singles, d)
		return k > orders && k < s.runs && !s.shard.has(k)
	})
}

// shard is the part number of the runs, from 1. The zero value has all runs.
type shard struct{ number, of int }

// parseShard parses a text such as 2/4. The empty text is that of the zero value.
func parseShard(text string) (shard, error) {
	if text == "" {
		return shard{}, nil
	}
	number, of, _ := strings.Cut(text, "/")
	i, err1 := strconv.ParseUint(number, 10, 31)
	n, err2 := strconv.ParseUint(of, 10, 31)
	if err1 != nil || err2 != nil || i < 1 || i > n {
		return shard{}, fmt.Errorf("%q is not i/n with 1 <= i <= n, such as 2/4", text)
	}
	return shard{number: int(i), of: int(n)}, nil
}

// has reports whether run k is of the shard.
func (s shard) has(k int) bool { return s.of == 0 || k%s.of == s.number-1 }

// String returns the text that parseShard parses.
func (s shard) String() string { return fmt.Sprintf("%d/%d", s.number, s.of) }
