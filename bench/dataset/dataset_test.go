package dataset

import (
	"reflect"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

func allSets() []Replicas { return []Replicas{R20, R3, R1} }

func marshal(t *testing.T, object interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	raw, err := object.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestPodsAreOfTheSizesOfTheDesign(t *testing.T) {
	for _, replicas := range allSets() {
		n, sum, managers, least, most := 1000, 0, 0, MaxPodSize, 0
		for _, pod := range NewPods(replicas, 1).Take(n) {
			size := pod.Size()
			sum, least, most = sum+size, min(least, size), max(most, size)
			for i := range pod.ManagedFields {
				managers += pod.ManagedFields[i].Size()
			}
		}
		t.Logf("%v: %d Pods, mean %d bytes, %d to %d; %d of it managed fields", replicas, n, sum/n, least, most, managers/n)
		if least < MinPodSize || most > MaxPodSize {
			t.Errorf("%v: from %d to %d bytes, want from %d to %d", replicas, least, most, MinPodSize, MaxPodSize)
		}
		if mean := sum / n; mean < 5500 || mean > 6500 {
			t.Errorf("%v: %d bytes on average, want about 6 KB", replicas, mean)
		}
	}
}

// TestShapesSpanTheirRanges holds that choosing shapes by their size leaves none
// of the design's dimensions out.
func TestShapesSpanTheirRanges(t *testing.T) {
	seen := map[string]map[int]int{"containers": {}, "env": {}, "volumes": {}, "probes": {}, "affinity": {}}
	for _, pod := range NewPods(R1, 1).Take(3000) {
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
		for what, n := range map[string]int{
			"containers": len(pod.Spec.Containers), "env": env, "volumes": len(pod.Spec.Volumes), "probes": probes, "affinity": affinity,
		} {
			seen[what][n]++
		}
	}
	for what, bounds := range map[string][2]int{"containers": {1, 4}, "env": {0, 30}, "volumes": {1, 8}, "affinity": {0, 1}} {
		for n := range seen[what] {
			if n < bounds[0] || n > bounds[1] {
				t.Errorf("%s: %d is out of %v", what, n, bounds)
			}
		}
		for n := bounds[0]; n <= bounds[1]; n++ {
			if seen[what][n] == 0 {
				t.Errorf("%s: no Pod has %d: %v", what, n, seen[what])
			}
		}
	}
	if len(seen["probes"]) < 5 {
		t.Errorf("numbers of probes: %v", seen["probes"])
	}
}

func TestSameSeedSamePods(t *testing.T) {
	inOrder, alone := NewPods(R3, 7), NewPods(R3, 7)
	for _, i := range []int{0, 1, 2, 3, 100, 5, 4} {
		if a, b := marshal(t, inOrder.Pod(i)), marshal(t, alone.Pod(i)); !slices.Equal(a, b) {
			t.Errorf("Pod %d is not the same twice", i)
		}
		inOrder.Pod(i + 50)
	}
	if slices.Equal(marshal(t, NewPods(R3, 7).Pod(0)), marshal(t, NewPods(R3, 8).Pod(0))) {
		t.Error("another seed makes the same Pod")
	}
	if !slices.Equal(marshal(t, NewNodes(7).Node(3)), marshal(t, NewNodes(7).Node(3))) {
		t.Error("a node is not the same twice")
	}
	if !reflect.DeepEqual(NewCustomResources(7).CustomResource(3), NewCustomResources(7).CustomResource(3)) {
		t.Error("a custom resource is not the same twice")
	}
}

func TestPodsAreTheCallers(t *testing.T) {
	pods := NewPods(R20, 1)
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
		t.Error("a Pod has changed since somebody wrote into another")
	}
}

func TestPodsFromSeveralGoroutines(t *testing.T) {
	pods, want := NewPods(R3, 1), NewPods(R3, 1).Take(60)
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for i := range want {
				if !reflect.DeepEqual(pods.Pod(i), want[i]) {
					t.Errorf("Pod %d is another one", i)
				}
			}
		})
	}
	running.Wait()
}

// shapeOf takes out of a Pod what siblings may differ in.
func shapeOf(pod *corev1.Pod) *corev1.Pod {
	shape := &corev1.Pod{Spec: *pod.Spec.DeepCopy()}
	shape.Labels, shape.OwnerReferences, shape.GenerateName = pod.Labels, pod.OwnerReferences, pod.GenerateName
	shape.Spec.NodeName = ""
	token := &shape.Spec.Volumes[len(shape.Spec.Volumes)-1]
	token.Name = ""
	for i := range shape.Spec.Containers {
		mounts := shape.Spec.Containers[i].VolumeMounts
		mounts[len(mounts)-1].Name = ""
	}
	return shape
}

func TestSiblingsAreAlikeAndShapesAreNot(t *testing.T) {
	for _, replicas := range allSets() {
		pods := NewPods(replicas, 3).Take(4 * int(replicas))
		for i, pod := range pods[1:] {
			before := pods[i]
			siblings := i/int(replicas) == (i+1)/int(replicas)
			if alike := apiequality.Semantic.DeepEqual(shapeOf(pod), shapeOf(before)); alike != siblings {
				t.Errorf("%v: Pods %d and %d: alike is %v, siblings %v", replicas, i, i+1, alike, siblings)
			}
			if siblings && len(pod.ManagedFields[0].FieldsV1.GetRawString()) != len(before.ManagedFields[0].FieldsV1.GetRawString()) {
				t.Errorf("%v: Pods %d and %d are siblings with other managed fields", replicas, i, i+1)
			}
		}
	}
}

func TestNobodyHasAnothersIdentity(t *testing.T) {
	keys, uids, versions := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, pod := range NewPods(R20, 1).Take(5000) {
		key := pod.Namespace + "/" + pod.Name
		if keys[key] || uids[string(pod.UID)] || versions[pod.ResourceVersion] || len(pod.ResourceVersion) != 10 {
			t.Fatalf("%s, UID %s, version %s: there is one already, or it is malformed", key, pod.UID, pod.ResourceVersion)
		}
		keys[key], uids[string(pod.UID)], versions[pod.ResourceVersion] = true, true, true
	}
}

func TestCustomResourcesAreJSONAndOfASize(t *testing.T) {
	for i, object := range NewCustomResources(1).Take(200) {
		text, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if len(text) < 2000 || len(text) > 6000 {
			t.Errorf("custom resource %d has %d bytes", i, len(text))
		}
		again := object.DeepCopy() // panics on what JSON cannot hold
		if err := again.UnmarshalJSON(text); err != nil || !reflect.DeepEqual(again, object) {
			t.Errorf("custom resource %d is another one after a round trip, error %v", i, err)
		}
	}
}

func TestNodesAreOfASize(t *testing.T) {
	for i, node := range NewNodes(1).Take(50) {
		if size := node.Size(); size < 3000 || size > 15000 {
			t.Errorf("node %d has %d bytes", i, size)
		}
	}
}

func BenchmarkPod(b *testing.B) {
	for _, replicas := range allSets() {
		b.Run(replicas.String(), func(b *testing.B) {
			pods := NewPods(replicas, 1)
			for i := 0; b.Loop(); i++ {
				pods.Pod(i)
			}
		})
	}
}
