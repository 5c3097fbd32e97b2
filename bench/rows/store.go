package rows

import (
	"time"

	"github.com/kinformer/kinformer/bench/harness"
)

// Scale is how much of everything there is. The goals hold for FullScale; tests
// make do with less.
type Scale struct {
	Window  time.Duration // how long whatever counts per second is watched
	Listed  int           // Pods that readers list
	Keys    int           // entries of a store that is read by key
	Gets    int           // reads of one measurement
	Events  int           // changes sent through an informer at once
	Entries []int         // sizes of stores of which the memory is taken
	Synced  int           // Pods that come from a server
}

// FullScale returns the scale of the design's figures.
func FullScale() Scale {
	return Scale{
		Window:  1500 * time.Millisecond,
		Listed:  10_000,
		Keys:    200_000,
		Gets:    2_000_000,
		Events:  200_000,
		Entries: []int{20_000, 200_000, 1_000_000},
		Synced:  20_000,
	}
}

// Store returns the rows about the store: reads beside writes (P5), Get (P6), the
// way of one event, memory, and the map underneath.
func Store(scale Scale) []harness.Experiment {
	var experiments []harness.Experiment
	for _, rows := range [][]harness.Experiment{
		listBesideWrites(scale), getByKey(scale), event(scale), memory(scale), snapshotMap(scale),
	} {
		experiments = append(experiments, rows...)
	}
	return experiments
}

// versus are the sides of nearly every row.
func versus() []string { return []string{"kinformer", "client-go"} }
