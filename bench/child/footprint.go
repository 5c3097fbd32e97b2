// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"time"

	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/internal/testing/footprint"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// FootprintJob is a child process whose informer syncs a collection and is then read.
type FootprintJob struct {
	Side    string
	Kind    string // of the objects, or the program whose informers run
	URL     string // of a listserver
	Objects int    // that the server has
}

// The kinds of collections.
const (
	Pods            = "Pods"
	Nodes           = "Nodes"
	CustomResources = "CustomResources"

	// Programs with informers of several resources. Objects is the number of the Pods.
	MetricsServer = "metrics-server"
	Descheduler   = "descheduler"
)

// Footprint is the result of a FootprintJob.
type Footprint struct {
	footprint.Cost

	ColdGet float64 // seconds to get an object that no reader references
	WarmGet float64 // seconds to get an object that a reader references
	GCCPU   float64 // seconds of CPU of a garbage collection
}

// footprintArg is the argument after Arg that selects a FootprintJob.
const footprintArg = "footprint"

// RunFootprint runs the job in a child process.
func RunFootprint(ctx context.Context, job FootprintJob) (result Footprint, err error) {
	err = run(ctx, job.Side, &result, footprintArg, "-side", job.Side, "-kind", job.Kind, "-url", job.URL, "-objects", strconv.Itoa(job.Objects))
	if err != nil {
		return Footprint{}, fmt.Errorf("%s of %d %s: %w", job.Side, job.Objects, job.Kind, err)
	}
	return result, nil
}

func footprintMain(args []string, out io.Writer) error {
	var job FootprintJob
	flags := flag.NewFlagSet(footprintArg, flag.ContinueOnError)
	flags.StringVar(&job.Side, "side", Packed, "informer to run")
	flags.StringVar(&job.Kind, "kind", Pods, "kind of objects: "+Pods+", "+Nodes+" or "+CustomResources+"; or a program: "+MetricsServer+" or "+Descheduler)
	flags.StringVar(&job.URL, "url", "", "URL of the server")
	flags.IntVar(&job.Objects, "objects", 0, "number of objects on the server")
	cpuProfile := flags.String("cpuprofile", "", "write a CPU profile of the sync to this file")
	memProfile := addMemProfile(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	inf, err := job.informer()
	if err != nil {
		return err
	}
	var result Footprint
	if result.Cost, err = job.sync(ctx, inf, *cpuProfile); err != nil {
		return err
	}
	if err := harness.WriteHeapProfile(*memProfile); err != nil {
		return err
	}
	measureGets(inf, &result)
	measureGC(&result)
	inf.Stop()
	return json.NewEncoder(out).Encode(result)
}

// sync starts the informer, waits until it has synced, and measures its memory and CPU.
func (job FootprintJob) sync(ctx context.Context, inf *footprint.Informer, cpuProfile string) (footprint.Cost, error) {
	stop, err := harness.StartCPUProfile(cpuProfile)
	if err != nil {
		return footprint.Cost{}, err
	}
	cost, err := inf.Sync(ctx)
	if err := errors.Join(err, stop()); err != nil {
		return cost, err
	}
	if cost.Objects < job.Objects*99/100 { // two of a million random Pods may have the same name
		return cost, fmt.Errorf("initial sync: %d objects, want %d", cost.Objects, job.Objects)
	}
	cost.MeasureHeap()
	return cost, nil
}

const (
	coldGets = 5000 // objects that are read
	warmGets = 20   // further reads of each of them, while it is referenced
)

// measureGets reads random objects.
func measureGets(inf *footprint.Informer, result *Footprint) {
	keys := inf.Keys()
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	keys = keys[:min(coldGets, len(keys))]
	objects := make([]any, len(keys))
	began := time.Now()
	for i, key := range keys {
		objects[i] = inf.Get(key)
	}
	result.ColdGet = time.Since(began).Seconds() / float64(len(keys))
	began = time.Now()
	for range warmGets {
		for _, key := range keys {
			inf.Get(key)
		}
	}
	result.WarmGet = time.Since(began).Seconds() / float64(len(keys)*warmGets)
	runtime.KeepAlive(objects)
}

// collections is the number of garbage collections that are measured.
const collections = 5

// measureGC measures a garbage collection.
func measureGC(result *Footprint) {
	process.LiveHeap() // frees the objects that measureGets has read
	cpu := process.CPU()
	for range collections {
		runtime.GC()
	}
	result.GCCPU = (process.CPU() - cpu).Seconds() / collections
}
