// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"errors"
	"fmt"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/listserver"
	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/footprint"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// Row projection measures reads of six fields of a packed store of whole Pods of which no decoded
// object exists, beside generated Unmarshal of the Pods' bytes, which are unpacked before. Get is
// in random order, and Unmarshal beside it too; All is in the order of the bases, and Unmarshal
// beside it in that of the list.

// podProjection reads child.PodFields.
type podProjection = *cache.Projection[child.PodFields]

func projection(scale Scale) []harness.Experiment {
	var h projectionHarness
	random := func(i, n int) int { return scatter(i, n) }
	inOrder := func(i, _ int) int { return i }
	return []harness.Experiment{
		h.experiment(scale, "Get of six fields", 0.32, 200, random, projectedGet),
		h.experiment(scale, "Get of six fields and the metadata", 0.42, 1000, random, projectedGetWithMetadata),
		lastRead(&h, h.experiment(scale, "All, six fields", 0.12, 0, inOrder, projectedAll)),
	}
}

// projectionHarness is an informer of packed Pods in this process. The heap is small, as that of a
// program with packed objects is, so that garbage collections are cheap and frequent.
type projectionHarness struct {
	packed   *dataset.Packed
	informer runningInformer
	read     podProjection
}

// lastRead returns an experiment that stops the informer when it ends.
func lastRead(h *projectionHarness, e harness.Experiment) harness.Experiment {
	e.Close = func() error {
		stop := h.informer.stop
		*h = projectionHarness{}
		return stop()
	}
	return e
}

// experiment compares reads of all Pods with Unmarshal. The goals are for the CPU and, if not zero,
// for the allocated bytes. order is that of Unmarshal.
func (h *projectionHarness) experiment(scale Scale, setup string, cpu, allocated float64, order func(i, n int) int, read func(podProjection, []string) error) harness.Experiment {
	bytes := harness.Goal{}
	if allocated > 0 {
		bytes = harness.Within(allocated, "B").MissedBecause("A map with labels or annotations takes 336 bytes, whatever it holds.")
	}
	return harness.Experiment{
		Row: "projection", Setup: setup, Sides: []string{"kinformer", "Unmarshal"},
		Metrics: []harness.Metric{
			{Name: "CPU of an object", Unit: "µs", Goal: harness.AtMost(cpu).MissedBecause(projectionReason)},
			{Name: "allocated for an object", Unit: "B", Goal: bytes},
		},
		Prepare: func() ([]harness.Measure, error) {
			if err := h.start(scale.Pods); err != nil {
				return nil, err
			}
			var keys []string
			for pod, err := range h.read.All() {
				if err != nil {
					return nil, err
				}
				keys = append(keys, pod.Key)
			}
			return []harness.Measure{
				measureReads(len(keys), func() error { return read(h.read, keys) }),
				unmarshal(h.packed, order),
			}, nil
		},
	}
}

// start starts the informer, unless an earlier experiment has.
func (h *projectionHarness) start(n int) error {
	if h.read != nil {
		return nil
	}
	packed, err := dataset.PackPods(perWorkload, n)
	if err != nil {
		return err
	}
	server, err := listserver.Start(packed, n)
	if err != nil {
		return err
	}
	config := footprint.Config(server.URL(), "")
	cache.EnableStreaming(config)
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return errors.Join(err, server.Close())
	}
	pods := cache.NewSharedInformer(cache.ListWatchOf(clientset.CoreV1().Pods("")), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Packed: true})
	if h.read, err = cache.ProjectionOf[child.PodFields](pods); err != nil {
		return errors.Join(err, server.Close())
	}
	h.packed = packed
	h.informer, err = runSharedInformer(pods, nil, nil)
	if err != nil {
		return errors.Join(err, server.Close())
	}
	stop := h.informer.stop
	h.informer.stop = func() error { return errors.Join(stop(), server.Close()) }
	return nil
}

// measureReads returns the CPU in microseconds and the allocated bytes of each of n reads.
func measureReads(n int, read func() error) harness.Measure {
	return func() ([]float64, error) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := process.CPU()
		if err := read(); err != nil {
			return nil, err
		}
		cpu := cpuPer(start, n) / 1000
		runtime.ReadMemStats(&after)
		return []float64{cpu, float64(after.TotalAlloc-before.TotalAlloc) / float64(n)}, nil
	}
}

// projectedGet reads the fields of all Pods in random order.
func projectedGet(pods podProjection, keys []string) error {
	for i := range keys {
		pod, exists, err := pods.Get(keys[scatter(i, len(keys))])
		if err != nil || !exists || pod.Fields.Status.PodIP == "" {
			return errors.Join(err, errNotFound)
		}
	}
	return nil
}

// projectedGetWithMetadata is projectedGet, and reads the metadata.
func projectedGetWithMetadata(pods podProjection, keys []string) error {
	for i := range keys {
		pod, exists, err := pods.Get(keys[scatter(i, len(keys))])
		if err != nil || !exists || pod.Fields.Status.PodIP == "" {
			return errors.Join(err, errNotFound)
		}
		metadata, err := pod.Metadata()
		if err != nil || metadata.Name == "" || len(metadata.Labels) == 0 || len(metadata.Annotations) == 0 {
			return errors.Join(err, errNotFound)
		}
	}
	return nil
}

// projectedAll reads the fields of all Pods.
func projectedAll(pods podProjection, keys []string) error {
	n := 0
	for pod, err := range pods.All() {
		if err != nil {
			return err
		}
		if pod.Fields.Status.PodIP != "" {
			n++
		}
	}
	if n != len(keys) {
		return fmt.Errorf("All: %d Pods, want %d", n, len(keys))
	}
	return nil
}

// unmarshalChunk is the number of Pods that are unpacked before they are decoded. Their bytes stay
// in the processor's cache.
const unmarshalChunk = 100

// unmarshal returns a Measure of generated Unmarshal of all Pods, which leaves out unpacking.
func unmarshal(pods *dataset.Packed, order func(i, n int) int) harness.Measure {
	return func() (figures []float64, err error) {
		total, chunk := make([]float64, 2), make([][]byte, unmarshalChunk)
		for first := 0; first < pods.Len(); first += unmarshalChunk {
			n := min(unmarshalChunk, pods.Len()-first)
			for i := range n {
				if chunk[i], err = pods.AppendRaw(chunk[i][:0], order(first+i, pods.Len())); err != nil {
					return nil, err
				}
			}
			figures, err := measureReads(pods.Len(), func() error { return unmarshalAll(chunk[:n]) })()
			if err != nil {
				return nil, err
			}
			for metric, figure := range figures {
				total[metric] += figure
			}
		}
		return total, nil
	}
}

func unmarshalAll(pods [][]byte) error {
	for _, raw := range pods {
		if err := new(corev1.Pod).Unmarshal(raw); err != nil {
			return err
		}
	}
	return nil
}
