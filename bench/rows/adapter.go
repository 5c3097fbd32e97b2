// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/harness"
)

// adapter repeats rows of our own API with package clientgo. Both sides are the same program with
// client-go's interfaces; only the informers differ. The goals are those of our own API, although a
// packed informer must decode every object here, as client-go's handlers receive objects.
func adapter(scale Scale) []harness.Experiment {
	pods := podFootprints(scale.Pods, perWorkload)
	heap := heapPerObject(pods, "packed, through clientgo",
		harness.AtMost(1.0/20), child.AdapterPacked, child.ClientGo, child.Adapter)
	experiments := []harness.Experiment{
		lastOf(pods, heap),
		syncAndRelist(scale, "through clientgo", []string{child.Adapter, child.ClientGo}, 0.7, 1/2.5, decodingCPU),
		syncAndRelist(scale, "through clientgo, packed", []string{child.AdapterPacked, child.ClientGo}, 1.0/8, 1/2.5,
			"Each Pod is decoded for the handler, and packed."),
	}
	sides := []string{child.Adapter, child.ClientGo}
	start := startSharedIndexInformer(newAdapterInformer, false)
	experiments = append(experiments, watchEvents(scale, "through clientgo, ", sides, start, startClientGo(false))...)
	return append(experiments, harness.Experiment{
		Row: "readers-beside-writer", Setup: "through clientgo, List, 10 readers", Sides: sides,
		Metrics: readersMetrics(harness.AtLeast(100), false),
		Prepare: readInformers(scale, scale.Window, 10, start, startClientGo(false)),
	})
}
