package rows

import (
	"fmt"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/realserver"
)

// Initial sync from a real kube-apiserver over TLS, by HTTP/2 and with gzip as
// everybody's clients ask for it: P2 and P3. What the server costs is no part of the
// figures, but it takes its share of the machine, so that times say little.
//
// client-go's first column is what its users get, WatchList; the second is the same
// program with the feature gate WatchListClient off.

func syncedFromAPIServer(scale Scale) []harness.Experiment {
	return []harness.Experiment{
		syncedByAPIServer(scale, "live", child.Kinformer, 0.7, 1.0/2),
		syncedByAPIServer(scale, "packed with a key handler", child.Packed, 1.0/8, 1.0/4),
	}
}

func syncedByAPIServer(scale Scale, how, ours string, memory, cpu float64) harness.Experiment {
	metrics := syncMetrics(harness.AtMost(memory), harness.AtMost(cpu))
	metrics[0].Name, metrics[1].Name = "P2", "P3"
	return fromAPIServer(scale, harness.Experiment{
		Name: "P2, P3", What: how, Metrics: metrics,
		Sides: []string{ours, child.ClientGoWatchList, child.ClientGo},
	})
}

// listAgainstWatchList is what InitialSyncAuto is chosen by: ours alone, by the one
// and by the other.
func listAgainstWatchList(scale Scale) []harness.Experiment {
	return []harness.Experiment{fromAPIServer(scale, harness.Experiment{
		Name: "auto", What: "live, ours, List and WatchList", Metrics: syncMetrics(harness.Goal{}, harness.Goal{}),
		Sides: []string{child.List, child.WatchList},
	})}
}

func enableStreamingOnAPIServer(scale Scale) []harness.Experiment {
	return []harness.Experiment{fromAPIServer(scale, harness.Experiment{
		Name: "one line", What: "with and without EnableStreaming", Metrics: syncMetrics(harness.AtMost(1), harness.AtMost(1)),
		Sides: oneLineSides(),
	})}
}

// fromAPIServer adds to an experiment a kube-apiserver from which each of its sides
// syncs.
func fromAPIServer(scale Scale, e harness.Experiment) harness.Experiment {
	var server *realserver.Server
	e.What = fmt.Sprintf("%d Pods of R20 from kube-apiserver over TLS, %s", scale.Synced, e.What)
	e.Prepare = func() (measures []harness.Measure, err error) {
		if server, err = realserver.Start(dataset.R20, scale.Synced); err != nil {
			return nil, err
		}
		config := server.Config()
		at := child.Server{URL: config.Host, CAFile: config.CAFile, Token: config.BearerToken}
		return eachSide(e.Sides, func(side string) ([]float64, error) { return syncFrom(at, side, scale.Synced) }), nil
	}
	e.Close = func() error { return server.Stop() }
	return e
}
