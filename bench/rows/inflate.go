// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"

	faster "github.com/klauspost/compress/gzip"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/podserver"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// inflate is row inflate: what the compression of lists costs a live informer. kube-apiserver
// compresses them for clients without rest.Config's DisableCompression. The other experiment
// inflates the same list by the standard library, which the client uses, and by a faster one.
func inflate(scale Scale) []harness.Experiment {
	return []harness.Experiment{syncCompressed(scale), inflateList(scale)}
}

func syncCompressed(scale Scale) harness.Experiment {
	sides := []string{child.Uncompressed, child.Kinformer}
	return harness.Experiment{
		Row: "inflate", Setup: "live, DisableCompression against gzip", Sides: sides,
		Metrics: []harness.Metric{
			{Name: "CPU until synced", Unit: "µs/Pod"},
			{Name: "peak RSS above idle until synced", Unit: "MB", Detail: true},
		},
		Prepare: func() ([]harness.Measure, error) {
			pods, err := podserver.Pods(perWorkload, scale.Pods)
			return measureEach(sides, func(side string) ([]float64, error) {
				server, err := podserver.Start(pods)
				if err != nil {
					return nil, err
				}
				defer func() { _ = server.Close() }() // the child process has ended
				server.CompressLists()
				job := child.SyncJob{Side: side, Pods: scale.Pods, Server: child.Server{URL: server.URL()}}
				cost, err := child.RunSync(context.Background(), job)
				return []float64{cost.SyncCPU * 1e6 / float64(scale.Pods), cost.PeakRSS / 1e6}, err
			}), err
		},
	}
}

func inflateList(scale Scale) harness.Experiment {
	return harness.Experiment{
		Row: "inflate", Setup: "a list of Pods", Sides: []string{"klauspost/compress", "compress/gzip"},
		Metrics: []harness.Metric{{Name: "CPU", Unit: "µs/Pod", Detail: true}},
		Prepare: func() ([]harness.Measure, error) {
			pods, err := podserver.Pods(perWorkload, scale.Pods)
			if err != nil {
				return nil, err
			}
			var list bytes.Buffer
			if err := podserver.Compress(&list, pods.List(1, dataset.Page{End: pods.Len()})); err != nil {
				return nil, err
			}
			inflated := func(newReader func(io.Reader) (io.Reader, error)) harness.Measure {
				return func() ([]float64, error) {
					start := process.CPU()
					reader, err := newReader(bytes.NewReader(list.Bytes()))
					if err == nil {
						_, err = io.Copy(io.Discard, reader)
					}
					return []float64{cpuPer(start, pods.Len()) / 1000}, err
				}
			}
			return []harness.Measure{
				inflated(func(r io.Reader) (io.Reader, error) { return faster.NewReader(r) }),
				inflated(func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }),
			}, nil
		},
	}
}
