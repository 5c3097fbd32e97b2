// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"errors"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/listserver"
)

// footprints measures informers of one collection, or of a program, each in a child process.
// Several experiments may use the same runs: the first that needs one starts the process.
type footprints struct {
	kind    string
	pack    func(n int) (*dataset.Packed, error)
	objects int // size of the largest collection
	// packOthers, if not nil, returns the other collections that a program's informers list, by
	// path.
	packOthers func() (map[string]*dataset.Packed, error)

	packed *dataset.Packed
	others map[string]*dataset.Packed
	runs   map[sizedSide][]child.Footprint
}

// sizedSide is a side and the number of its objects.
type sizedSide struct {
	side    string
	objects int
}

// prepare returns an experiment's Prepare function. figures returns the figures of one run.
func (f *footprints) prepare(figures func(run child.Footprint, objects float64) []float64, sides ...sizedSide) func() ([]harness.Measure, error) {
	return func() (measures []harness.Measure, err error) {
		if err := f.packAll(); err != nil {
			return nil, err
		}
		for _, side := range sides {
			round := 0
			measures = append(measures, func() ([]float64, error) {
				for round >= len(f.runs[side]) {
					run, err := f.run(side)
					if err != nil {
						return nil, err
					}
					f.runs[side] = append(f.runs[side], run)
				}
				round++
				return figures(f.runs[side][round-1], float64(side.objects)), nil
			})
		}
		return measures, nil
	}
}

// packAll makes the objects, unless another experiment has made them.
func (f *footprints) packAll() (err error) {
	if f.packed != nil {
		return nil
	}
	if f.packOthers != nil {
		if f.others, err = f.packOthers(); err != nil {
			return err
		}
	}
	f.packed, err = f.pack(f.objects)
	f.runs = make(map[sizedSide][]child.Footprint)
	return err
}

// run measures a side in a child process.
func (f *footprints) run(side sizedSide) (run child.Footprint, err error) {
	server, err := listserver.StartBeside(f.packed, side.objects, f.others)
	if err != nil {
		return run, err
	}
	run, err = child.RunFootprint(context.Background(), child.FootprintJob{Side: side.side, Kind: f.kind, URL: server.URL(), Objects: side.objects})
	return run, errors.Join(err, server.Close())
}

// ofAllObjects returns the sides with the whole collection.
func (f *footprints) ofAllObjects(sides []string) (sized []sizedSide) {
	for _, side := range sides {
		sized = append(sized, sizedSide{side, f.objects})
	}
	return sized
}

// release frees the objects and the results of the runs.
func (f *footprints) release() error {
	f.packed, f.others, f.runs = nil, nil, nil
	return nil
}

// lastOf returns an experiment that releases the footprints when it ends.
func lastOf(f *footprints, e harness.Experiment) harness.Experiment {
	e.Close = f.release
	return e
}
