package harness

import (
	"errors"
	"fmt"
	"runtime"
)

// Run measures every side of an experiment, so many times each unless the
// experiment says otherwise.
func Run(e Experiment, rounds int) (result Result, err error) {
	if e.Rounds > 0 {
		rounds = e.Rounds
	}
	result = Result{Experiment: e, Samples: newSamples(e)}
	measures, err := e.Prepare()
	if err != nil {
		return result, fmt.Errorf("%s, %s: %w", e.Name, e.What, err)
	}
	if e.Close != nil {
		defer func() { err = errors.Join(err, e.Close()) }()
	}
	if len(measures) != len(e.Sides) {
		return result, fmt.Errorf("%s, %s: %d sides, but %d to measure", e.Name, e.What, len(e.Sides), len(measures))
	}
	for round := range rounds {
		for i := range measures {
			side := order(round, i, len(measures))
			if err := result.measure(side, measures[side]); err != nil {
				return result, fmt.Errorf("%s, %s: %s: %w", e.Name, e.What, e.Sides[side], err)
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

// order returns whose turn it is: forwards in even rounds, backwards in odd ones.
func order(round, turn, sides int) int {
	if round%2 == 1 {
		return sides - 1 - turn
	}
	return turn
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
