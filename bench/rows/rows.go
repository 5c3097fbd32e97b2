package rows

import (
	"slices"
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
	Updates int           // changes while a handler is stuck
	Late    int           // objects of an informer to which a handler is added
	Entries []int         // sizes of stores of which the memory is taken
	Synced  int           // Pods that come from a server
	Million int           // Pods of the largest collection that is packed
}

// FullScale returns the scale of the design's figures.
func FullScale() Scale {
	return Scale{
		Window:  1500 * time.Millisecond,
		Listed:  10_000,
		Keys:    200_000,
		Gets:    2_000_000,
		Events:  200_000,
		Updates: 1_000_000,
		Late:    200_000,
		Entries: []int{20_000, 200_000, 1_000_000},
		Synced:  20_000,
		Million: 1_000_000,
	}
}

// The groups of rows that can be measured alone.
const (
	Sync      = "sync"      // the way from a server to a handler
	Store     = "store"     // the store, its readers, and events
	Memory    = "memory"    // what it takes to hold a collection
	Million   = "million"   // a million Pods, which takes minutes, and gigabytes for client-go's part
	Adapter   = "adapter"   // client-go's interfaces with our informers
	APIServer = "apiserver" // from a real kube-apiserver, which takes minutes to build the first time
)

// Row makes the experiments of one file here.
type Row struct {
	Group string
	At    func(Scale) []harness.Experiment
}

// All returns every row, in the order of the table. A new row is a file with a
// function, and a line here.
func All() []Row {
	return []Row{
		{Sync, synced},
		{Sync, enableStreaming},
		{Memory, perObject},       // P1
		{Store, listBesideWrites}, // P5
		{Store, getByKey},         // P6
		{Store, event},
		{Store, eventToHandlers}, // P4
		{Store, stuckHandler},    // P8
		{Store, lateHandler},
		{Store, memory},
		{Store, snapshotMap},
		{Adapter, adapter},
		{Million, million}, // P9
		{APIServer, syncedFromAPIServer},
		{APIServer, listAgainstWatchList},
		{APIServer, enableStreamingOnAPIServer},
	}
}

// Groups returns the names of the groups.
func Groups() (names []string) {
	for _, row := range All() {
		if !slices.Contains(names, row.Group) {
			names = append(names, row.Group)
		}
	}
	return names
}

// In returns the experiments of some groups.
func In(scale Scale, groups ...string) (experiments []harness.Experiment) {
	for _, row := range All() {
		if slices.Contains(groups, row.Group) {
			experiments = append(experiments, row.At(scale)...)
		}
	}
	return experiments
}

// versus are the sides of nearly every row.
func versus() []string { return []string{"kinformer", "client-go"} }
