// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// getters is the number of goroutines that read beside the writer.
const getters = 8

// getByKey is row get-by-key: Reader.GetByKey and client-go's Indexer.GetByKey in random order, by
// one goroutine, and by eight beside one that writes without pause. One goroutine is measured in
// processor time.
func getByKey(scale Scale) []harness.Experiment {
	var experiments []harness.Experiment
	one := harness.AtMost(1).MissedBecause("hash/maphash takes calls that the built-in map does not make, and the tags of a page are one more cache line.")
	eight := harness.AtLeast(3).MissedBecause("Memory limits both sides among many keys.")
	for _, n := range []int{scale.Listed, scale.Keys} {
		experiments = append(experiments, harness.Experiment{
			Row: "get-by-key", Setup: fmt.Sprintf("%d objects, one goroutine", n), Sides: bothSides(),
			Metrics: []harness.Metric{{Name: "CPU of GetByKey", Unit: "ns", Goal: one}},
			Prepare: func() ([]harness.Measure, error) { return getByOne(scale, n) },
		}, harness.Experiment{
			Row: "get-by-key", Setup: fmt.Sprintf("%d objects, %d goroutines beside a writer", n, getters), Sides: bothSides(),
			Metrics: []harness.Metric{{Name: "GetByKey", Unit: "1/s", Goal: eight}, {Name: "writes", Unit: "1/s", Detail: true}},
			Prepare: func() ([]harness.Measure, error) { return getBesideWriter(scale, n) },
		})
	}
	return experiments
}

var errNotFound = errors.New("object not found")

func getByOne(scale Scale, n int) ([]harness.Measure, error) {
	objects := smallObjects(n)
	keys := keysOf(objects)
	ours, theirs, err := filledStores(objects)
	// The loop stands twice, since a call through a function value takes as long as a Get.
	return []harness.Measure{
		func() ([]float64, error) {
			start := process.CPU()
			for i := range scale.Gets {
				if _, ok := ours.GetByKey(keys[scatter(i, len(keys))]); !ok {
					return nil, errNotFound
				}
			}
			return []float64{cpuPer(start, scale.Gets)}, nil
		},
		func() ([]float64, error) {
			start := process.CPU()
			for i := range scale.Gets {
				if _, ok, _ := theirs.GetByKey(keys[scatter(i, len(keys))]); !ok {
					return nil, errNotFound
				}
			}
			return []float64{cpuPer(start, scale.Gets)}, nil
		},
	}, err
}

// cpuPer returns the processor time since start of each of n operations, in nanoseconds.
func cpuPer(start time.Duration, n int) float64 {
	return float64((process.CPU() - start).Nanoseconds()) / float64(n)
}

// getBesideWriter counts gets in blocks, so that counting does not affect the figure. The writer
// alternates between two states of each object, which are made before the measurement.
func getBesideWriter(scale Scale, n int) ([]harness.Measure, error) {
	const block = 200
	states := [2][]*metav1.PartialObjectMetadata{smallObjects(n), nil}
	for _, object := range states[0] {
		states[1] = append(states[1], withVersion(object, firstVersion+1))
	}
	keys := keysOf(states[0])
	ours, theirs, err := filledStores(states[0])
	var position atomic.Int64 // of the readers; continues from round to round
	measure := func(update func(*metav1.PartialObjectMetadata) error, getBlock func(from int)) harness.Measure {
		return func() (figures []float64, err error) {
			var writes atomic.Int64
			figures = rates(scale.Window, getters, func() { getBlock(int(position.Add(block))) }, &writes, func(stop <-chan struct{}) {
				for i := 0; err == nil; i++ {
					select {
					case <-stop:
						return
					default:
					}
					err = update(states[(i/n+1)%2][scatter(i, n)])
					writes.Add(1)
				}
			})
			return []float64{figures[1] * block, figures[0]}, err
		}
	}
	return []harness.Measure{
		measure(ours.Update, func(from int) {
			for i := range block {
				ours.GetByKey(keys[scatter(from+i, n)])
			}
		}),
		measure(func(o *metav1.PartialObjectMetadata) error { return theirs.Update(o) }, func(from int) {
			for i := range block {
				_, _, _ = theirs.GetByKey(keys[scatter(from+i, n)])
			}
		}),
	}, err
}
