// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
)

// preferCBOR is row prefer-cbor: a dynamic client that prefers CBOR, beside one that requests JSON.
// CBOR cannot be split, so both stream JSON. The server has JSON only, and refuses a request that
// does not accept it.
func preferCBOR(scale Scale) []harness.Experiment {
	f := &footprints{kind: child.CustomResources, objects: scale.Pods / 4, pack: dataset.PackCustomResources}
	sides := []string{child.PrefersCBOR, child.Kinformer}
	return []harness.Experiment{lastOf(f, harness.Experiment{
		Row: "prefer-cbor", Setup: fmt.Sprintf("%d unstructured custom resources, live", f.objects), Sides: sides, MaxRounds: 5,
		Metrics: []harness.Metric{{Name: "peak RSS above idle until synced", Unit: "MB", Goal: harness.AtMost(1.1)}},
		Prepare: f.prepare(func(run child.Footprint, _ float64) []float64 {
			return []float64{(run.PeakRSS - run.IdleRSS) / 1e6}
		}, f.ofAllObjects(sides)...),
	})}
}
