// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"context"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/collection"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/measure"
)

// measureAll measures all caches of a collection, one after the other, in child processes, each of
// which may take as much memory as the limits allow.
func (s *session) measureAll(ctx context.Context, c *collection.Collection, began func(string)) ([]cost, error) {
	var costs []cost
	for _, variant := range measure.Variants() {
		began(string(variant))
		result, err := measure.Run(ctx, c, variant, s.limits.Memory)
		if err != nil {
			return nil, err
		}
		costs = append(costs, cost{
			Cache: string(variant), HeapBytes: result.HeapBytes, PeakRSSBytes: result.PeakRSSBytes,
			CPUSeconds: result.CPU.Seconds(), Seconds: result.Duration.Seconds(),
		})
	}
	return costs, nil
}

// collectionMemory is the memory of this process for each byte that it has read, with the free part
// of the heap, which the garbage collector lets grow to the same size.
const collectionMemory = 2

// memoryFor returns how much memory it takes to read and measure a resource, all processes
// together.
func memoryFor(objects, wireBytes int64, contentType string) int64 {
	return collectionMemory*wireBytes + measure.PeakMemory(objects, wireBytes, contentType)
}
