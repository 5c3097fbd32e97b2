// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"errors"
	"fmt"
	"runtime"
)

// Run measures every side of an experiment once a round, forwards in even rounds and backwards in
// odd ones.
func Run(e Experiment, rounds int) (result Result, err error) {
	if e.MaxRounds > 0 {
		rounds = min(rounds, e.MaxRounds)
	}
	result = Result{Experiment: e, Samples: make([][][]float64, len(e.Metrics))}
	for metric := range result.Samples {
		result.Samples[metric] = make([][]float64, len(e.Sides))
	}
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
		for side := range measures {
			if round%2 == 1 {
				side = len(measures) - 1 - side
			}
			if err := result.measure(side, measures[side]); err != nil {
				return result, fmt.Errorf("%s, %s: %s: %w", e.Row, e.Setup, e.Sides[side], err)
			}
		}
	}
	return result, nil
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
