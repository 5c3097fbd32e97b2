// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/podserver"
	"github.com/kinformer/kinformer/internal/decode"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// decodePods is row decode: decoding Pods from protobuf in one process, against the generated
// Unmarshal of the same bytes, without garbage collection.
func decodePods(scale Scale) []harness.Experiment {
	return []harness.Experiment{
		decodeExperiment(scale, perWorkload, decode.Options{}, 0.6), decodeExperiment(scale, 1, decode.Options{}, 0.85),
		decodeExperiment(scale, perWorkload, decode.Options{ShareEqual: true}, 0.35), decodeExperiment(scale, 1, decode.Options{ShareEqual: true}, 0.7),
	}
}

const lookingUp = "A third of the CPU looks up strings in tables, and adds those of Pods of different workloads to them; a sixth allocates. " +
	"Copying equal parts from a decoded Pod of the same workload, of which four fifths of the bytes are equal, took longer; " +
	"so did counting the values of each type first, to allocate them as one array (63 allocations). " +
	"Strings that are parts of one copy of the bytes, without any table, take 0.9 of Unmarshal's CPU, 78 allocations, and 20 kB a Pod instead of 12."

func decodeExperiment(scale Scale, of dataset.PodsPerWorkload, options decode.Options, goal float64) harness.Experiment {
	side := child.Kinformer
	if options.ShareEqual {
		side = child.ShareEqual
	}
	return harness.Experiment{
		Row: "decode", Setup: fmt.Sprintf("%d Pods, %v, %s", scale.Pods, of, side), Sides: []string{side, "Unmarshal"},
		Metrics: []harness.Metric{
			{Name: "CPU", Unit: "ns/Pod", Goal: harness.AtMost(goal).MissedBecause(lookingUp)},
			{Name: "allocations", Unit: "1/Pod", Detail: true},
		},
		Prepare: func() ([]harness.Measure, error) {
			pods, err := podserver.Pods(of, scale.Pods)
			if err != nil {
				return nil, err
			}
			decoder, err := decode.New(reflect.TypeFor[corev1.Pod](), options)
			return []harness.Measure{
				func() ([]float64, error) { return decodeEach(pods, decoder.Decode) },
				func() ([]float64, error) {
					return decodeEach(pods, func(raw []byte) (any, error) {
						pod := new(corev1.Pod)
						return pod, pod.Unmarshal(raw)
					})
				},
			}, err
		},
	}
}

// decodeEach decodes each Pod once, keeps all of them, and returns the processor time and the
// number of allocations per Pod.
func decodeEach(pods *dataset.Encoded, decode func(raw []byte) (any, error)) ([]float64, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	kept := make([]any, pods.Len())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := process.CPU()
	for i := range kept {
		pod, err := decode(pods.Raw(i))
		if err != nil {
			return nil, err
		}
		kept[i] = pod
	}
	cpu := cpuPer(start, len(kept))
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return []float64{cpu, float64(after.Mallocs-before.Mallocs) / float64(len(kept))}, nil
}
