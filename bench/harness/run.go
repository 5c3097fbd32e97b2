// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"errors"
	"fmt"
	"runtime"
)

// Run measures every side of an experiment in each of its rounds.
func Run(e Experiment, rounds int) (result Result, err error) {
	if e.Rounds > 0 {
		rounds = e.Rounds
	}
	result = Result{Experiment: e, Samples: newSamples(e)}
	measures, err := e.Prepare()
	if err != nil {
		return result, fmt.Errorf("%s, %s: %w", e.Row, e.Setup, err)
	}
	if e.Close != nil {
		defer func() { err = errors.Join(err, e.Close()) }()
	}
	if len(measures) != len(e.Sides) {
		return result, fmt.Errorf("%s, %s: %d sides, but %d measures", e.Row, e.Setup, len(e.Sides), len(measures))
	}
	for round := range rounds {
		for i := range measures {
			side := order(round, i, len(measures))
			if err := result.measure(side, measures[side]); err != nil {
				return result, fmt.Errorf("%s, %s: %s: %w", e.Row, e.Setup, e.Sides[side], err)
			}
		}
	}
	return result, nil
}

func newSamples(e Experiment) [][][]float64 {
	samples := make([][][]float64, len(e.Metrics))
	for i := range samples {
		samples[i] = make([][]float64, len(e.Sides))
	}
	return samples
}

// order returns the side that is measured as the i-th of a round: forwards in even rounds,
// backwards in odd ones.
func order(round, i, sides int) int {
	if round%2 == 1 {
		return sides - 1 - i
	}
	return i
}

func (r Result) measure(side int, measure Measure) error {
	runtime.GC()
	figures, err := measure()
	if err != nil {
		return err
	}
	if len(figures) != len(r.Metrics) {
		return fmt.Errorf("%d figures for %d metrics", len(figures), len(r.Metrics))
	}
	for metric, figure := range figures {
		r.Samples[metric][side] = append(r.Samples[metric][side], figure)
	}
	return nil
}
