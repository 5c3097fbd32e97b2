// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// TestSameSeedSameObjects checks that objects depend only on the seed, so that test failures can be
// reproduced.
func TestSameSeedSameObjects(t *testing.T) {
	since := time.Unix(1_700_000_000, 0)
	for i := range 20 {
		draw := func(seed uint64) []any {
			pod, node := NewWorkload(seed, i, "ns").Pod(3), NewNode(seed, i)
			return []any{pod, node, RunningStatus(seed, pod, since), NodeStatus(seed, node, true, since)}
		}
		if !equality.Semantic.DeepEqual(draw(1), draw(1)) {
			t.Errorf("number %d: two draws with one seed differ", i)
		}
		if equality.Semantic.DeepEqual(draw(1), draw(2)) {
			t.Errorf("number %d: draws with two seeds are equal", i)
		}
	}
}

// TestReplicasShareTheirShape checks that replicas of a workload differ only in their names, on
// which packing relies.
func TestReplicasShareTheirShape(t *testing.T) {
	w := NewWorkload(1, 1, "ns")
	a, b := w.Pod(0), w.Pod(1)
	if a.Name == b.Name {
		t.Errorf("two replicas have the name %s", a.Name)
	}
	b.Name = a.Name
	if !equality.Semantic.DeepEqual(a, b) {
		t.Error("two replicas of a workload differ in more than their names")
	}
	// Replicas must not share memory.
	a.Labels["changed"] = "yes"
	a.Spec.Containers[0].Env = append(a.Spec.Containers[0].Env, corev1.EnvVar{Name: "NEW"})
	if c := w.Pod(0); c.Labels["changed"] != "" || len(c.Spec.Containers[0].Env) == len(a.Spec.Containers[0].Env) {
		t.Error("a write into one replica changes the next")
	}
}

// TestWorkloadsDiffer checks that workloads cover the range of shapes, so that measurements do.
func TestWorkloadsDiffer(t *testing.T) {
	containers, volumes, affinities := map[int]bool{}, map[int]bool{}, map[bool]bool{}
	most := 0
	for i := range 200 {
		spec := NewWorkload(1, i, "ns").Pod(0).Spec
		containers[len(spec.Containers)] = true
		volumes[len(spec.Volumes)] = true
		affinities[spec.Affinity != nil] = true
		most = max(most, len(spec.Containers[0].Env))
	}
	if len(containers) != 4 || len(volumes) != 8 || len(affinities) != 2 || most < 25 {
		t.Errorf("200 workloads have %v containers, %v volumes, affinity %v, up to %d variables; want 1-4, 1-8, both, and about 30",
			containers, volumes, affinities, most)
	}
}
