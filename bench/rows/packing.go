// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// Row packing compares internal/pack with zstd at two levels and with two dictionaries, all of at
// most 64 KiB: the first objects themselves, much as in internal/pack, and one that was trained
// with the first 1,000 objects. Each object can be decompressed on its own, and its checksum is
// verified.
//
// The heap is that of the compressed objects with the dictionary; in internal/pack also that of
// the dictionary's index and of the bases, which zstd has not. The tables of zstd's encoder and
// decoder do not count, as they are the same for any number of objects. The time to compress
// includes that in which internal/pack trains its dictionary, but not that in which zstd's is
// trained.

// rawObject is an object as its server encodes it.
type rawObject struct {
	raw   []byte
	owner string // the UID of its controller, if any
}

// compressor compresses the objects of a collection in their order.
type compressor func(objects []rawObject) compressedObjects

// compressedObjects are what a cache keeps of a collection.
type compressedObjects interface {
	// Decompress appends the i-th object to dst.
	Decompress(dst []byte, i int) ([]byte, error)
}

// packedObjects are compressed by internal/pack.
type packedObjects []pack.Object

func packObjects(objects []rawObject) compressedObjects {
	packer := pack.New()
	packed := make(packedObjects, len(objects))
	for i, o := range objects {
		packed[i] = packer.Pack(o.raw, o.owner, pack.Object{}, pack.Excerpt{})
	}
	return packed
}

func (p packedObjects) Decompress(dst []byte, i int) ([]byte, error) { return p[i].Unpack(dst) }

func packing(scale Scale) (experiments []harness.Experiment) {
	for _, perWorkload := range []dataset.PodsPerWorkload{20, 3, 1} {
		pods := dataset.NewPods(perWorkload, 1)
		experiments = append(experiments, packingOf(fmt.Sprintf("Pods, %v", perWorkload), perWorkload != 20, scale.Pods, func(i int) (rawObject, error) {
			return rawProtobuf(pods.Pod(i))
		}))
	}
	nodes, resources := dataset.NewNodes(1), dataset.NewCustomResources(1)
	return append(experiments,
		packingOf("Nodes", true, scale.Pods/4, func(i int) (rawObject, error) {
			return rawProtobuf(nodes.Node(i))
		}),
		packingOf("custom resources in JSON", true, scale.Pods/2, func(i int) (rawObject, error) {
			raw, err := json.Marshal(resources.CustomResource(i).Object)
			return rawObject{raw: raw}, err
		}))
}

func rawProtobuf(object dataset.Object) (rawObject, error) {
	raw, err := object.Marshal()
	o := rawObject{raw: raw}
	if controller := metav1.GetControllerOfNoCopy(object); controller != nil {
		o.owner = string(controller.UID)
	}
	return o, err
}

// packingOf compares the sides on n objects. detail leaves them out of the summary's table.
func packingOf(setup string, detail bool, n int, object func(i int) (rawObject, error)) harness.Experiment {
	return harness.Experiment{
		Row: "packing", Setup: setup, MaxRounds: 3, // a round takes up to 10 seconds
		Sides: []string{"internal/pack", "zstd default, first objects", "zstd fastest, first objects", "zstd default, trained", "zstd fastest, trained"},
		Metrics: []harness.Metric{
			{Name: "heap", Unit: "B/object", Detail: detail},
			{Name: "CPU to compress", Unit: "µs/object", Detail: detail},
			{Name: "CPU to decompress, random order", Unit: "µs/object", Detail: detail},
			{Name: "size before", Unit: "B/object", Detail: true},
		},
		Prepare: func() ([]harness.Measure, error) {
			objects := make([]rawObject, n)
			for i := range objects {
				var err error
				if objects[i], err = object(i); err != nil {
					return nil, err
				}
			}
			return packingMeasures(objects)
		},
	}
}

// packingMeasures returns a Measure for each side. The dictionaries are built once.
func packingMeasures(objects []rawObject) ([]harness.Measure, error) {
	zstds, err := zstdCompressors(objects)
	if err != nil {
		return nil, err
	}
	var measures []harness.Measure
	for _, compress := range append([]compressor{packObjects}, zstds...) {
		measures = append(measures, func() ([]float64, error) { return measurePacking(objects, compress) })
	}
	return measures, nil
}

func measurePacking(objects []rawObject, compress compressor) ([]float64, error) {
	n := float64(len(objects))
	before, start := process.LiveHeap(), process.CPU()
	compressed := compress(objects)
	compressing := cpuPer(start, len(objects)) / 1000
	heap := (process.LiveHeap() - before) / n
	decompressing, err := measureDecompress(objects, compressed)
	runtime.KeepAlive(compressed)
	return []float64{heap, compressing, decompressing, float64(totalSize(objects)) / n}, err
}

// measureDecompress returns the time to decompress an object, in microseconds, and an error if one
// is not as it was.
func measureDecompress(objects []rawObject, compressed compressedObjects) (float64, error) {
	buffer, err := compressed.Decompress(nil, 0) // with what is allocated once
	if err != nil {
		return 0, err
	}
	start := process.CPU()
	for i := range objects {
		if buffer, err = compressed.Decompress(buffer[:0], scatter(i, len(objects))); err != nil {
			return 0, err
		}
	}
	decompressing := cpuPer(start, len(objects)) / 1000
	for i, o := range objects {
		if buffer, err = compressed.Decompress(buffer[:0], i); err != nil || !bytes.Equal(buffer, o.raw) {
			return 0, fmt.Errorf("object %d differs: %w", i, err)
		}
	}
	return decompressing, nil
}

func totalSize(objects []rawObject) (size int) {
	for _, o := range objects {
		size += len(o.raw)
	}
	return size
}
