// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/kubeapiserver"
)

// The rows of this file measure initial sync from a real kube-apiserver over TLS, HTTP/2 and gzip.
// The server's CPU is not in the figures, but the server runs on the same machine, so times are
// imprecise.
//
// The reference is client-go's default, WatchList; the third side is the same program with the
// feature gate WatchListClient disabled.

// decryptingCPU is a reason for missed goals.
const decryptingCPU = "Both sides also decrypt and decompress; most of the rest of a live informer's CPU is decoding."

func syncFromAPIServer(scale Scale) []harness.Experiment {
	return []harness.Experiment{
		syncVariantFromAPIServer(scale, "live", child.Kinformer, 0.7, 1.0/2),
		syncVariantFromAPIServer(scale, "packed", child.Packed, 1.0/8, 1.0/4),
	}
}

func syncVariantFromAPIServer(scale Scale, variant, ours string, memory, cpu float64) harness.Experiment {
	return fromAPIServer(scale, harness.Experiment{
		Row: "initial-sync", Setup: variant, Metrics: syncMetrics(harness.AtMost(memory), harness.AtMost(cpu).MissedBecause(decryptingCPU)),
		Sides: []string{ours, child.ClientGoWatchList, child.ClientGo},
	})
}

// listOrWatchList compares our list modes. The default is the better one.
func listOrWatchList(scale Scale) []harness.Experiment {
	return []harness.Experiment{fromAPIServer(scale, harness.Experiment{
		Row: "list-or-watchlist", Setup: "live, kinformer with List and with WatchList", Metrics: syncMetrics(harness.Goal{}, harness.Goal{}),
		Sides: []string{child.List, child.WatchList},
	})}
}

func enableStreamingFromAPIServer(scale Scale) []harness.Experiment {
	return []harness.Experiment{fromAPIServer(scale, harness.Experiment{
		Row: "enable-streaming", Setup: "with and without EnableStreaming", Metrics: syncMetrics(harness.AtMost(1), harness.AtMost(1).MissedBecause(decryptingCPU)),
		Sides: streamingSides(),
	})}
}

// fromAPIServer returns the experiment with a kube-apiserver from which each side syncs.
func fromAPIServer(scale Scale, e harness.Experiment) harness.Experiment {
	var server *kubeapiserver.Server
	e.MaxRounds = 5 // one takes up to 10 seconds
	e.Prepare = func() (measures []harness.Measure, err error) {
		if server, err = kubeapiserver.Start(perWorkload, scale.Pods); err != nil {
			return nil, err
		}
		config := server.Config()
		address := child.Server{URL: config.Host, CAFile: config.CAFile, Token: config.BearerToken}
		return measureEach(e.Sides, func(side string) ([]float64, error) { return syncFrom(address, side, scale.Pods) }), nil
	}
	e.Close = func() error { return server.Stop() }
	return e
}
