// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pack_test

import (
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// object is the input of a packer.
type object struct {
	raw   []byte
	owner string
}

const (
	seed  = 1
	count = 8000
)

// sets returns the data sets. Their objects are in the order of a list.
func sets(tb testing.TB) []struct {
	name    string
	objects []object
} {
	tb.Helper()
	return []struct {
		name    string
		objects []object
	}{
		{"Pods, 20 per workload", pods(tb, 20)},
		{"Pods, 3 per workload", pods(tb, 3)},
		{"Pods, 1 per workload", pods(tb, 1)},
		{"Nodes", nodes(tb)},
		{"Unstructured", unstructured(tb)},
	}
}

func pods(tb testing.TB, perWorkload dataset.PodsPerWorkload) (objects []object) {
	tb.Helper()
	set := dataset.NewPods(perWorkload, seed)
	for i := range count {
		objects = append(objects, podObject(tb, set.Pod(i)))
	}
	return objects
}

func podObject(tb testing.TB, pod *corev1.Pod) object {
	tb.Helper()
	raw, err := pod.Marshal()
	if err != nil {
		tb.Fatal(err)
	}
	return object{raw, string(pod.OwnerReferences[0].UID)}
}

func nodes(tb testing.TB) (objects []object) {
	tb.Helper()
	for _, node := range dataset.NewNodes(seed).Take(2000) {
		raw, err := node.Marshal()
		if err != nil {
			tb.Fatal(err)
		}
		objects = append(objects, object{raw: raw})
	}
	return objects
}

func unstructured(tb testing.TB) (objects []object) {
	tb.Helper()
	for _, resource := range dataset.NewCustomResources(seed).Take(2000) {
		raw, err := json.Marshal(resource.Object)
		if err != nil {
			tb.Fatal(err)
		}
		objects = append(objects, object{raw: raw})
	}
	return objects
}

func packAll(p *pack.Packer, objects []object) (packed []pack.Object, size int) {
	packed = make([]pack.Object, len(objects))
	for i, o := range objects {
		packed[i] = p.Pack(o.raw, o.owner, pack.Object{}, pack.Excerpt{})
		size += packed[i].Size()
	}
	return packed, size
}

// BenchmarkPack packs a list with a new packer.
func BenchmarkPack(b *testing.B) {
	for _, set := range sets(b) {
		b.Run(set.name, func(b *testing.B) {
			size, n := 0, 0
			for b.Loop() {
				p := pack.New()
				_, all := packAll(p, set.objects)
				size += all
				n += len(set.objects)
			}
			b.ReportMetric(float64(size)/float64(n), "B/object")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/object")
		})
	}
}

// BenchmarkHeap measures the heap of packed objects with their bases and dictionaries, including
// the 24 bytes of each in the slice.
func BenchmarkHeap(b *testing.B) {
	for _, set := range sets(b) {
		b.Run(set.name, func(b *testing.B) {
			for b.Loop() {
				before := process.LiveHeap()
				p := pack.New()
				packed, _ := packAll(p, set.objects)
				b.ReportMetric((process.LiveHeap()-before)/float64(len(packed)), "B/object")
				runtime.KeepAlive(packed)
				runtime.KeepAlive(p)
			}
		})
	}
}

// BenchmarkUnpack unpacks objects in order and in random order.
func BenchmarkUnpack(b *testing.B) {
	for _, set := range sets(b) {
		packed, _ := packAll(pack.New(), set.objects)
		random := rand.New(rand.NewPCG(1, 1)).Perm(len(packed))
		unpack := func(b *testing.B, order func(i int) int) {
			var buffer []byte
			i := 0
			for b.Loop() {
				var err error
				if buffer, err = packed[order(i%len(packed))].Unpack(buffer[:0]); err != nil {
					b.Fatal(err)
				}
				i++
			}
		}
		b.Run(set.name+"/in order", func(b *testing.B) { unpack(b, func(i int) int { return i }) })
		b.Run(set.name+"/random", func(b *testing.B) { unpack(b, func(i int) int { return random[i] }) })
	}
}

// BenchmarkUpdate packs new states of random objects, which differ in the resourceVersion.
func BenchmarkUpdate(b *testing.B) {
	set := dataset.NewPods(20, seed)
	pods := set.Take(2000)
	before, after := make([]object, len(pods)), make([]object, len(pods))
	for i, pod := range pods {
		before[i] = podObject(b, pod)
		pod.ResourceVersion = dataset.Version(1_000_000 + i)
		after[i] = podObject(b, pod)
	}
	p := pack.New()
	packed, _ := packAll(p, before)
	random := rand.New(rand.NewPCG(1, 1)).Perm(len(packed))
	i := 0
	for b.Loop() {
		n := random[i%len(random)]
		packed[n] = p.Pack(after[n].raw, after[n].owner, packed[n], pack.Excerpt{})
		i++
	}
}
