package rows

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/bench/harness"
)

// P6 reads the stores by key, ours with Reader.GetByKey and client-go's with
// Indexer.GetByKey, in an order that is not that of the memory: alone, and with
// eight goroutines beside one that updates without a pause. What one goroutine
// takes is processor time.

// getters is how many goroutines read beside the writer.
const getters = 8

func getByKey(scale Scale) []harness.Experiment {
	var experiments []harness.Experiment
	for _, n := range []int{scale.Listed, scale.Keys} {
		experiments = append(experiments, harness.Experiment{
			Name: "P6", What: fmt.Sprintf("GetByKey of %d, one goroutine", n), Sides: versus(),
			Metrics: []harness.Metric{{What: "CPU", Unit: "ns", Goal: harness.AtMost(1)}},
			Prepare: func() ([]harness.Measure, error) { return getAlone(scale, n) },
		}, harness.Experiment{
			Name: "P6", What: fmt.Sprintf("GetByKey of %d, %d goroutines beside a writer", n, getters), Sides: versus(),
			Metrics: []harness.Metric{{What: "gets", Unit: "1/s", Goal: harness.AtLeast(3)}, {What: "writes", Unit: "1/s"}},
			Prepare: func() ([]harness.Measure, error) { return getBesideWriter(scale, n) },
		})
	}
	return experiments
}

var errNotFound = errors.New("an object is not in the store")

func getAlone(scale Scale, n int) ([]harness.Measure, error) {
	objects := smallObjects(n)
	keys := keysOf(objects)
	ours, theirs, err := filled(objects)
	// Two loops, since a call through a function value costs what is to be measured.
	return []harness.Measure{
		func() ([]float64, error) {
			start := harness.CPU()
			for i := range scale.Gets {
				if _, ok := ours.GetByKey(keys[scatter(i, len(keys))]); !ok {
					return nil, errNotFound
				}
			}
			return []float64{cpuEach(start, scale.Gets)}, nil
		},
		func() ([]float64, error) {
			start := harness.CPU()
			for i := range scale.Gets {
				if _, ok, _ := theirs.GetByKey(keys[scatter(i, len(keys))]); !ok {
					return nil, errNotFound
				}
			}
			return []float64{cpuEach(start, scale.Gets)}, nil
		},
	}, err
}

// cpuEach returns the nanoseconds of processor time that each of n has taken since
// start.
func cpuEach(start time.Duration, n int) float64 {
	return float64((harness.CPU() - start).Nanoseconds()) / float64(n)
}

// getBesideWriter counts hundreds of gets at once, so that counting is no matter.
// The writer does nothing but Update: it puts in, by turns, two states of each
// object that are there before.
func getBesideWriter(scale Scale, n int) ([]harness.Measure, error) {
	const block = 200
	states := [2][]*metav1.PartialObjectMetadata{smallObjects(n), nil}
	for _, object := range states[0] {
		states[1] = append(states[1], nextState(object, firstVersion+1))
	}
	keys := keysOf(states[0])
	ours, theirs, err := filled(states[0])
	var position atomic.Int64 // of the readers; goes on from round to round
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
