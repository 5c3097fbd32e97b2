package rows

import (
	"context"
	"errors"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/listserver"
)

// holding is a number of objects of a kind that informers hold, each in a process
// of its own. Several experiments show figures of the same runs: the first to ask for
// a run of a side has it made.
type holding struct {
	kind  string
	store func(n int) (*dataset.Stored, error)
	most  int // of the objects that anybody holds

	stored *dataset.Stored
	runs   map[subscriber][]child.Held
}

// subscriber is a side with so many objects.
type subscriber struct {
	side    string
	objects int
}

// show returns measures of an experiment's sides: what figures takes of each run.
func (c *holding) show(figures func(h child.Held, objects float64) []float64, sides ...subscriber) func() ([]harness.Measure, error) {
	return func() (measures []harness.Measure, err error) {
		if c.stored == nil {
			if c.stored, err = c.store(c.most); err != nil {
				return nil, err
			}
			c.runs = make(map[subscriber][]child.Held)
		}
		for _, side := range sides {
			round := 0
			measures = append(measures, func() ([]float64, error) {
				for round >= len(c.runs[side]) {
					held, err := c.hold(side)
					if err != nil {
						return nil, err
					}
					c.runs[side] = append(c.runs[side], held)
				}
				round++
				return figures(c.runs[side][round-1], float64(side.objects)), nil
			})
		}
		return measures, nil
	}
}

// hold has a side hold the first objects.
func (c *holding) hold(side subscriber) (held child.Held, err error) {
	server, err := listserver.Start(c.stored, side.objects)
	if err != nil {
		return held, err
	}
	held, err = child.Hold(context.Background(), child.Holding{Side: side.side, Kind: c.kind, URL: server.URL(), Objects: side.objects})
	return held, errors.Join(err, server.Close())
}

// forget makes the objects garbage once the last experiment has shown them.
func (c *holding) forget() error {
	c.stored, c.runs = nil, nil
	return nil
}
