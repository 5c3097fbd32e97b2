// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"reflect"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

func podSets() []PodsPerWorkload { return []PodsPerWorkload{20, 3, 1} }

func marshal(t *testing.T, object interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	raw, err := object.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestPodSizes(t *testing.T) {
	for _, perWorkload := range podSets() {
		n, sum, managers, least, most := 1000, 0, 0, maxPodSize, 0
		for _, pod := range NewPods(perWorkload, 1).Take(n) {
			size := pod.Size()
			sum, least, most = sum+size, min(least, size), max(most, size)
			for i := range pod.ManagedFields {
				managers += pod.ManagedFields[i].Size()
			}
		}
		t.Logf("%v: %d Pods of %d bytes on average, %d to %d; managed fields are %d bytes of it", perWorkload, n, sum/n, least, most, managers/n)
		if least < minPodSize || most > maxPodSize {
			t.Errorf("%v: sizes from %d to %d bytes, want %d to %d", perWorkload, least, most, minPodSize, maxPodSize)
		}
		if mean := sum / n; mean < 5500 || mean > 6500 {
			t.Errorf("%v: %d bytes on average, want about 6 KB", perWorkload, mean)
		}
	}
}

// TestWorkloadsSpanTheirRanges checks that selecting workloads by size excludes no number of
// containers, variables, volumes or affinities.
func TestWorkloadsSpanTheirRanges(t *testing.T) {
	seen := map[string]map[int]int{"containers": {}, "env": {}, "volumes": {}, "probes": {}, "affinity": {}}
	for _, pod := range NewPods(1, 1).Take(3000) {
		env, probes := 0, 0
		for _, c := range pod.Spec.Containers {
			env += len(c.Env)
			for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
				if probe != nil {
					probes++
				}
			}
		}
		affinity := 0
		if pod.Spec.Affinity != nil {
			affinity = 1
		}
		for field, n := range map[string]int{
			"containers": len(pod.Spec.Containers), "env": env, "volumes": len(pod.Spec.Volumes), "probes": probes, "affinity": affinity,
		} {
			seen[field][n]++
		}
	}
	for field, bounds := range map[string][2]int{"containers": {1, 4}, "env": {0, 30}, "volumes": {1, 8}, "affinity": {0, 1}} {
		for n := range seen[field] {
			if n < bounds[0] || n > bounds[1] {
				t.Errorf("%s: %d is outside %v", field, n, bounds)
			}
		}
		for n := bounds[0]; n <= bounds[1]; n++ {
			if seen[field][n] == 0 {
				t.Errorf("%s: no Pod has %d: %v", field, n, seen[field])
			}
		}
	}
	if len(seen["probes"]) < 5 {
		t.Errorf("numbers of probes: %v", seen["probes"])
	}
}

func TestObjectsDependOnSeedAndIndexOnly(t *testing.T) {
	others, pods := NewPods(3, 7), NewPods(3, 7)
	for _, i := range []int{0, 1, 2, 3, 100, 5, 4} {
		if a, b := marshal(t, others.Pod(i)), marshal(t, pods.Pod(i)); !slices.Equal(a, b) {
			t.Errorf("Pod %d differs between two sets of the same seed", i)
		}
		others.Pod(i + 50)
	}
	if slices.Equal(marshal(t, NewPods(3, 7).Pod(0)), marshal(t, NewPods(3, 8).Pod(0))) {
		t.Error("two seeds make the same Pod")
	}
	if !slices.Equal(marshal(t, NewNodes(7).Node(3)), marshal(t, NewNodes(7).Node(3))) {
		t.Error("a node differs between two sets of the same seed")
	}
	if !reflect.DeepEqual(NewCustomResources(7).CustomResource(3), NewCustomResources(7).CustomResource(3)) {
		t.Error("a custom resource differs between two sets of the same seed")
	}
}

func TestPodsShareNoMemory(t *testing.T) {
	pods := NewPods(20, 1)
	want := marshal(t, pods.Pod(1))
	for _, pod := range []*corev1.Pod{pods.Pod(0), pods.Pod(1)} {
		pod.Labels["app.kubernetes.io/name"] = "changed"
		pod.Annotations["checksum/config"] = "changed"
		pod.OwnerReferences[0].Name = "changed"
		pod.Spec.Containers[0].Image = "changed"
		*pod.Spec.Priority = 7
		pod.Status.ContainerStatuses[0].Image = "changed"
	}
	if !slices.Equal(marshal(t, pods.Pod(1)), want) {
		t.Error("writing into one Pod changed another")
	}
}

func TestPodsAreSafeForConcurrentUse(t *testing.T) {
	pods, want := NewPods(3, 1), NewPods(3, 1).Take(60)
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for i := range want {
				if !reflect.DeepEqual(pods.Pod(i), want[i]) {
					t.Errorf("Pod %d differs", i)
				}
			}
		})
	}
	running.Wait()
}

// template returns a Pod without the fields in which the Pods of a workload differ.
func template(pod *corev1.Pod) *corev1.Pod {
	template := &corev1.Pod{Spec: *pod.Spec.DeepCopy()}
	template.Labels, template.OwnerReferences, template.GenerateName = pod.Labels, pod.OwnerReferences, pod.GenerateName
	template.Spec.NodeName = ""
	token := &template.Spec.Volumes[len(template.Spec.Volumes)-1]
	token.Name = ""
	for i := range template.Spec.Containers {
		mounts := template.Spec.Containers[i].VolumeMounts
		mounts[len(mounts)-1].Name = ""
	}
	return template
}

func TestPodsDifferBetweenWorkloadsOnly(t *testing.T) {
	for _, perWorkload := range podSets() {
		pods := NewPods(perWorkload, 3).Take(4 * int(perWorkload))
		for i, pod := range pods[1:] {
			before := pods[i]
			sameWorkload := i/int(perWorkload) == (i+1)/int(perWorkload)
			if equal := apiequality.Semantic.DeepEqual(template(pod), template(before)); equal != sameWorkload {
				t.Errorf("%v: Pods %d and %d have equal templates: %v, want %v", perWorkload, i, i+1, equal, sameWorkload)
			}
			if sameWorkload && len(pod.ManagedFields[0].FieldsV1.GetRawString()) != len(before.ManagedFields[0].FieldsV1.GetRawString()) {
				t.Errorf("%v: Pods %d and %d of one workload differ in managed fields", perWorkload, i, i+1)
			}
		}
	}
}

func TestKeysUIDsAndVersionsAreUnique(t *testing.T) {
	keys, uids, versions := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, pod := range NewPods(20, 1).Take(5000) {
		key := pod.Namespace + "/" + pod.Name
		if keys[key] || uids[string(pod.UID)] || versions[pod.ResourceVersion] || len(pod.ResourceVersion) != 10 {
			t.Fatalf("%s, UID %s, version %s: duplicate or malformed", key, pod.UID, pod.ResourceVersion)
		}
		keys[key], uids[string(pod.UID)], versions[pod.ResourceVersion] = true, true, true
	}
}

func TestCustomResourcesSurviveJSON(t *testing.T) {
	for i, object := range NewCustomResources(1).Take(200) {
		text, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if len(text) < 2000 || len(text) > 6000 {
			t.Errorf("custom resource %d has %d bytes, want 2000 to 6000", i, len(text))
		}
		again := object.DeepCopy() // panics if a value cannot be represented in JSON
		if err := again.UnmarshalJSON(text); err != nil || !reflect.DeepEqual(again, object) {
			t.Errorf("custom resource %d differs after a round trip, error %v", i, err)
		}
	}
}

func TestNodeSizes(t *testing.T) {
	for i, node := range NewNodes(1).Take(50) {
		if size := node.Size(); size < 3000 || size > 15000 {
			t.Errorf("node %d has %d bytes, want 3000 to 15000", i, size)
		}
	}
}

func BenchmarkPod(b *testing.B) {
	for _, perWorkload := range podSets() {
		b.Run(perWorkload.String(), func(b *testing.B) {
			pods := NewPods(perWorkload, 1)
			for i := 0; b.Loop(); i++ {
				pods.Pod(i)
			}
		})
	}
}
