package model_test

import (
	"fmt"
	"time"
)

// summary counts what programs did.
type summary struct {
	programs, steps, checks, requests int
	injected                          int // requests that had a fault, once for each
	simulated                         time.Duration
	faults, pairs                     map[string]int // programs in which a request had the fault, or both faults
}

func (s *summary) add(x *execution) {
	if s.faults == nil {
		s.faults, s.pairs = make(map[string]int), make(map[string]int)
	}
	s.programs++
	s.steps += len(x.program.Steps)
	for _, n := range x.checks {
		s.checks += n
	}
	s.simulated += x.simulated
	s.requests += len(x.server.requests)
	injected := sortedKeys(x.server.injected)
	for i, a := range injected {
		s.faults[a]++
		s.injected += x.server.injected[a]
		for _, b := range injected[i+1:] {
			s.pairs[a+" + "+b]++
		}
	}
}

func (s summary) String() string {
	return fmt.Sprintf("%d programs, %d steps, %d requests, %d faults of %d kinds, %d pairs of kinds, %v simulated, %d checks of invariants",
		s.programs, s.steps, s.requests, s.injected, len(s.faults), len(s.pairs), s.simulated.Round(time.Hour), s.checks)
}
