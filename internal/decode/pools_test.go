// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/testing/process"
)

// podWithPools returns a Pod with several values of each of some types.
func podWithPools() *corev1.Pod {
	pod := &corev1.Pod{Spec: corev1.PodSpec{ActiveDeadlineSeconds: new(int64(1)), TerminationGracePeriodSeconds: new(int64(2))}}
	pod.Status.StartTime = &metav1.Time{Time: time.Unix(7, 0)}
	for i := range 3 {
		container := corev1.Container{Name: fmt.Sprint(i), StartupProbe: &corev1.Probe{PeriodSeconds: 1}, LivenessProbe: &corev1.Probe{PeriodSeconds: 2}}
		for j := range 2 + 10*i {
			container.Ports = append(container.Ports, corev1.ContainerPort{Name: fmt.Sprint(i, j), ContainerPort: int32(j + 1)})
		}
		container.SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(i)), Privileged: new(i == 0), ReadOnlyRootFilesystem: new(true)}
		pod.Spec.Containers = append(pod.Spec.Containers, container)
	}
	return pod
}

func marshal(tb testing.TB, pod *corev1.Pod) []byte {
	tb.Helper()
	raw, err := pod.Marshal()
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// TestSlicesOfOneTypeDoNotOverlap appends to the slices whose elements are in one array.
func TestSlicesOfOneTypeDoNotOverlap(t *testing.T) {
	d := newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{})
	pod, want := decodePod(t, d, marshal(t, podWithPools())), podWithPools()
	for i := range pod.Spec.Containers {
		for _, to := range []*corev1.Pod{pod, want} {
			c := &to.Spec.Containers[i]
			c.Ports = append(c.Ports, corev1.ContainerPort{Name: "added"})
			c.Ports[0].Name, c.LivenessProbe.PeriodSeconds, *c.SecurityContext.Privileged = "changed", int32(10+i), i > 0
			*c.SecurityContext.RunAsUser *= 2
		}
	}
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestValuesOfOneTypeAreOneAllocation decodes containers with several ports, probes and numbers.
func TestValuesOfOneTypeAreOneAllocation(t *testing.T) {
	d := newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{})
	raw := marshal(t, podWithPools())
	decode := func() { decodePod(t, d, raw) }
	// The least of several runs: with the race detector, a sync.Pool forgets a quarter of what it
	// is given, and the pools are then allocated again.
	least := testing.AllocsPerRun(1, decode)
	for range 50 {
		least = min(least, testing.AllocsPerRun(1, decode))
	}
	// The Pod, and arrays of containers, ports, probes, security contexts, int64 and bool, and of a
	// time. The array of 36 ports takes another allocation, of reflection.
	if least > 9 {
		t.Errorf("%v allocations", least)
	}
}

// TestKeptPartDoesNotKeepTheObject keeps the ports of a container of many Pods, and nothing else.
func TestKeptPartDoesNotKeepTheObject(t *testing.T) {
	const pods = 1000
	d := newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{})
	raw := marshal(t, podWithPools())
	kept := make([][]corev1.ContainerPort, pods)
	before := process.LiveHeap()
	for i := range kept {
		kept[i] = decodePod(t, d, raw).Spec.Containers[0].Ports
	}
	each := (process.LiveHeap() - before) / pods
	ports := float64(36 * reflect.TypeFor[corev1.ContainerPort]().Size())
	if t.Logf("%.0f bytes", each); each > 1.2*ports {
		t.Errorf("the ports of a Pod keep %.0f bytes, more than all ports, %.0f", each, ports)
	}
	runtime.KeepAlive(kept)
}

// TestValuesThatTheWalkDoesNotCountAreDecoded decodes a message that Kubernetes' encoders do not
// write: it has each field a second time, and a field with a long tag.
func TestValuesThatTheWalkDoesNotCountAreDecoded(t *testing.T) {
	d := newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{})
	raw := marshal(t, podWithPools())
	raw = append(raw, raw...)
	raw = append(raw, 0xfa, 0xff, 0xff, 0xff, 0x0f, 0)
	want := new(corev1.Pod)
	if err := want.Unmarshal(raw); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, decodePod(t, d, raw)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d.plan.root.walk.accepts(raw, nil) {
		t.Error("the walk accepts the message")
	}
}

// TestMergedMessagesAreNotCounted decodes a message behind a pointer that occurs 20,000 times: it
// is one value. It also decodes as many specs of one container each, and containers whose tags have
// one byte and two: their slice grows, and is in no array.
func TestMergedMessagesAreNotCounted(t *testing.T) {
	d := newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{})
	const n = 20_000
	for name, raw := range map[string][]byte{
		"a message behind a pointer":   bytesField(2, bytesField(1, bytesField(2, bytesField(29, bytes.Repeat(bytesField(1), n))))),
		"specs":                        bytes.Repeat(bytesField(2, bytesField(2)), n),
		"tags of one byte and of two":  bytesField(2, bytes.Repeat([]byte{2<<3 | 2, 0, 2<<3 | 2 | 0x80, 0, 0}, n)),
		"a number behind a pointer":    bytesField(2, bytes.Repeat(varintField(4, 1), n)),
		"values of an entry of labels": bytesField(1, bytesField(11, bytesField(1), bytes.Repeat(bytesField(2), n))),
	} {
		counts := make([]uint32, len(d.plan.pooled))
		if d.plan.root.walk.accepts(raw, counts) {
			t.Errorf("%s: counted", name)
		}
		if _, err := d.Decode(raw); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSharedValuesHaveMemoryOfTheirOwn decodes slices of one type with ShareEqual: objects share
// each of them, and one that is still used must not keep the others.
func TestSharedValuesHaveMemoryOfTheirOwn(t *testing.T) {
	for _, shareEqual := range []bool{false, true} {
		d := newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{ShareEqual: shareEqual})
		containers := decodePod(t, d, marshal(t, podWithPools())).Spec.Containers
		first, second := containers[0].Ports, containers[1].Ports
		end := reflect.ValueOf(&first[0]).Pointer() + uintptr(len(first))*reflect.TypeFor[corev1.ContainerPort]().Size()
		if adjacent := end == reflect.ValueOf(&second[0]).Pointer(); adjacent == shareEqual {
			t.Errorf("ShareEqual %v: the ports of two containers are adjacent: %v", shareEqual, adjacent)
		}
	}
}
