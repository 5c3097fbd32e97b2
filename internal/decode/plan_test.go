// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"reflect"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/internal/fields"
)

// nodeNames has a field of a Pod.
type nodeNames struct {
	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
}

// TestDecodersOfATypeShareOnePlan makes the decoders of thousands of informers: of whole Pods, of a
// field of a Pod that a struct names, and of one that a path names.
func TestDecodersOfATypeShareOnePlan(t *testing.T) {
	pod := reflect.TypeFor[corev1.Pod]()
	path, err := fields.PathType(pod, []string{"spec", "nodeName"})
	if err != nil {
		t.Fatal(err)
	}
	newOnes := func() (decoders []*Decoder) {
		decoders = append(decoders, newDecoder(t, pod, Options{}))
		for _, fields := range []reflect.Type{reflect.TypeFor[nodeNames](), path} {
			decoders = append(decoders, newPartial(t, partialObject(t, reflect.PointerTo(pod), fields), Options{}))
		}
		return decoders
	}
	first := newOnes()
	if a, b := first[1].plan, first[2].plan; a == b || a == first[0].plan {
		t.Error("decoders of different fields share a plan")
	}
	before := planCount()
	for range decoderRounds {
		for i, d := range newOnes() {
			if d.plan != first[i].plan {
				t.Fatalf("%s was planned again", d.plan.root.goType)
			}
		}
	}
	if after := planCount(); after != before {
		t.Errorf("the process has %d plans after %d", after, before)
	}
}

func planCount() int {
	plans.Lock()
	defer plans.Unlock()
	return len(plans.compiled)
}

// TestPlanIsCompleteWhenShared decodes with a type that contains itself and that many goroutines
// plan at once.
func TestPlanIsCompleteWhenShared(t *testing.T) {
	raw := nest(3, nestingFields()["pointer"])
	for range planRounds {
		plans.Lock()
		delete(plans.compiled, planKey{object: reflect.TypeFor[nested]()})
		plans.Unlock()
		begin := make(chan struct{})
		var decoded [100]any
		var running sync.WaitGroup
		for i := range decoded {
			running.Go(func() {
				<-begin
				if p, err := planOf(planKey{object: reflect.TypeFor[nested]()}, planNested); err == nil {
					decoded[i], _ = decoderOf(p, Options{}).Decode(bytes.Clone(raw))
				}
			})
		}
		close(begin)
		running.Wait()
		want := &nested{Child: &nested{Child: &nested{Child: &nested{}}}}
		for _, got := range decoded {
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("decoded %+v, want %+v", got, want)
			}
		}
	}
}
