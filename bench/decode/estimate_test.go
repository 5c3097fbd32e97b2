// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"encoding/json"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/internal/decode"
)

// maxEstimate is a quarter of the default of Limits.Decoded, in multiples of an object's bytes.
const maxEstimate = 400 / 4

// noLimit makes an estimate complete.
const noLimit = 1 << 40

// TestEstimatesOfTheDatasetAreWithinAQuarterOfTheLimit estimates what decoding the objects of the
// benchmarks allocates, in protobuf and JSON, typed and unstructured.
func TestEstimatesOfTheDatasetAreWithinAQuarterOfTheLimit(t *testing.T) {
	for _, perWorkload := range []dataset.PodsPerWorkload{20, 3, 1} {
		estimateAll(t, dataset.NewPods(perWorkload, 1).Take(1000), reflect.TypeFor[corev1.Pod]())
	}
	estimateAll(t, dataset.NewNodes(1).Take(1000), reflect.TypeFor[corev1.Node]())
	most := 0.0
	for _, object := range dataset.NewCustomResources(1).Take(1000) {
		raw, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, float64(decode.JSONAllocates(raw, 0, noLimit))/float64(len(raw)))
	}
	expectEstimate(t, "custom resources", most)
}

// estimateAll estimates objects of a generated type in each encoding.
func estimateAll[T dataset.Object](t *testing.T, objects []T, goType reflect.Type) {
	t.Helper()
	decoder, err := decode.New(goType, decode.Options{})
	if err != nil {
		t.Fatal(err)
	}
	largest := decode.LargestElement(goType)
	var most [3]float64
	for _, object := range objects {
		protobuf, err := object.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		most[0] = max(most[0], float64(decoder.Allocates(protobuf, noLimit))/float64(len(protobuf)))
		most[1] = max(most[1], float64(decode.JSONAllocates(text, largest, noLimit))/float64(len(text)))
		most[2] = max(most[2], float64(decode.JSONAllocates(text, 0, noLimit))/float64(len(text)))
	}
	expectEstimate(t, goType.String()+" in protobuf", most[0])
	expectEstimate(t, goType.String()+" in JSON", most[1])
	expectEstimate(t, goType.String()+", unstructured", most[2])
}

func expectEstimate(t *testing.T, name string, ratio float64) {
	t.Helper()
	t.Logf("%s: %.1f times the bytes", name, ratio)
	if ratio > maxEstimate {
		t.Errorf("%s: the estimate is %.1f times the bytes, want %d at most", name, ratio, maxEstimate)
	}
}
