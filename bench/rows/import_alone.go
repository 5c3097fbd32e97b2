// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
)

// Row import-alone measures the informers of programs that change only their imports from
// client-go's factories to those of package clientgo: they do not call EnableStreaming. Each side
// is a child process that lists over plain HTTP, with a handler of the largest collection.

func importAlone(scale Scale) []harness.Experiment {
	custom := &footprints{kind: child.CustomResources, objects: scale.Pods / 4, pack: dataset.PackCustomResources}
	return []harness.Experiment{
		changedImport(metricsServer(scale), fmt.Sprintf("metrics-server, metadata of %d Pods", scale.Pods), harness.AtMost(0.5), harness.AtMost(0.5)),
		changedImport(descheduler(scale), fmt.Sprintf("descheduler, %d Pods", scale.Pods), harness.AtMost(0.87), harness.AtMost(0.7)),
		changedImport(custom, fmt.Sprintf("%d unstructured custom resources", custom.objects), harness.AtMost(0.9), harness.AtMost(0.85)),
	}
}

// changedImport compares the informers of both imports.
func changedImport(f *footprints, setup string, heap, peak harness.Goal) harness.Experiment {
	sides := []string{child.Imported, child.ClientGo}
	return lastOf(f, harness.Experiment{
		Row: "import-alone", Setup: setup, Sides: sides, MaxRounds: 5,
		Metrics: []harness.Metric{
			{Name: "heap", Unit: "MB", Goal: heap},
			{Name: "peak RSS above idle until synced", Unit: "MB", Goal: peak},
			{Name: "CPU until synced", Unit: "µs/object"},
		},
		Prepare: f.prepare(func(run child.Footprint, objects float64) []float64 {
			return []float64{run.Heap / 1e6, (run.PeakRSS - run.IdleRSS) / 1e6, run.CPU * 1e6 / objects}
		}, f.ofAllObjects(sides)...),
	})
}

// metricsServer returns the footprints of a metadata informer of Pods and an informer of Nodes.
func metricsServer(scale Scale) *footprints {
	return &footprints{
		kind: child.MetricsServer, objects: scale.Pods,
		pack:       func(n int) (*dataset.Packed, error) { return dataset.PackPodMetadata(perWorkload, n) },
		packOthers: func() (map[string]*dataset.Packed, error) { return packNodes(scale) },
	}
}

// descheduler returns the footprints of informers of Pods, Nodes, Namespaces and PriorityClasses.
func descheduler(scale Scale) *footprints {
	f := podFootprints(scale.Pods, perWorkload)
	f.kind = child.Descheduler
	f.packOthers = func() (map[string]*dataset.Packed, error) {
		collections, err := packNodes(scale)
		if err != nil {
			return nil, err
		}
		if collections["/api/v1/namespaces"], err = dataset.PackNamespaces(120); err != nil {
			return nil, err
		}
		collections["/apis/scheduling.k8s.io/v1/priorityclasses"], err = dataset.PackPriorityClasses(10)
		return collections, err
	}
	return f
}

// packNodes returns a Node for 40 Pods, by path.
func packNodes(scale Scale) (map[string]*dataset.Packed, error) {
	nodes, err := dataset.PackNodes(scale.Pods / 40)
	return map[string]*dataset.Packed{"/api/v1/nodes": nodes}, err
}
