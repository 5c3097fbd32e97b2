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
	"runtime/debug"
	"strconv"
	"time"

	"github.com/kinformer/kinformer/bench/harness"
)

// FootprintJob is a child process whose informer syncs a collection and is then read.
type FootprintJob struct {
	Side    string
	Kind    string // Pods, Nodes or CustomResources
	URL     string // of a listserver
	Objects int    // that the server has
}

// The kinds of collections.
const (
	Pods            = "Pods"
	Nodes           = "Nodes"
	CustomResources = "CustomResources"
)

// Footprint is the result of a FootprintJob.
type Footprint struct {
	Heap     float64 // bytes, after garbage collection, above those before the sync
	PeakRSS  float64 // bytes, until synced
	SyncCPU  float64 // seconds
	SyncTime float64 // seconds

	ColdGet float64 // seconds to get an object that no reader references
	WarmGet float64 // seconds to get an object that a reader references
	GCCPU   float64 // seconds of CPU of a garbage collection
}

// footprintArg is the argument after Arg that selects a FootprintJob.
const footprintArg = "footprint"

// RunFootprint runs the job in a child process.
func RunFootprint(ctx context.Context, job FootprintJob) (footprint Footprint, err error) {
	err = run(ctx, false, &footprint, footprintArg, "-side", job.Side, "-kind", job.Kind, "-url", job.URL, "-objects", strconv.Itoa(job.Objects))
	if err != nil {
		return Footprint{}, fmt.Errorf("%s of %d %s: %w", job.Side, job.Objects, job.Kind, err)
	}
	return footprint, nil
}

func footprintMain(args []string, out io.Writer) error {
	var job FootprintJob
	flags := flag.NewFlagSet(footprintArg, flag.ContinueOnError)
	flags.StringVar(&job.Side, "side", Packed, "informer to run")
	flags.StringVar(&job.Kind, "kind", Pods, "kind of objects: "+Pods+", "+Nodes+" or "+CustomResources)
	flags.StringVar(&job.URL, "url", "", "URL of the server")
	flags.IntVar(&job.Objects, "objects", 0, "number of objects on the server")
	cpuProfile := flags.String("cpuprofile", "", "write a CPU profile of the sync to this file")
	memProfile := flags.String("memprofile", "", "write a heap profile after the sync to this file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *memProfile != "" {
		runtime.MemProfileRate = 4096
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	inf, err := job.informer()
	if err != nil {
		return err
	}
	var footprint Footprint
	if err := errors.Join(inf.sync(ctx, job, &footprint, *cpuProfile), harness.WriteHeapProfile(*memProfile)); err != nil {
		return err
	}
	measureGets(inf, &footprint)
	measureGC(&footprint)
	inf.stop()
	<-inf.stopped
	return json.NewEncoder(out).Encode(footprint)
}

// sync starts the informer, waits until it has synced, and measures its memory and CPU.
func (inf *footprintInformer) sync(ctx context.Context, job FootprintJob, footprint *Footprint, cpuProfile string) error {
	debug.FreeOSMemory()
	before := harness.LiveHeap()
	stop, err := harness.StartCPUProfile(cpuProfile)
	if err != nil {
		return err
	}
	began, cpu := time.Now(), harness.CPU()
	inf.start(ctx)
	if err := poll(ctx, inf.synced); err != nil {
		return fmt.Errorf("initial sync: %w after %d of %d objects", err, inf.added.Load(), job.Objects)
	}
	objects := len(inf.keys()) // two of a million random Pods may have the same name
	if err := poll(ctx, func() bool { return int(inf.added.Load()) >= objects }); err != nil {
		return fmt.Errorf("handler: %w after %d of %d objects", err, inf.added.Load(), objects)
	}
	if objects < job.Objects*99/100 {
		return fmt.Errorf("initial sync: %d objects, want %d", objects, job.Objects)
	}
	footprint.SyncCPU, footprint.SyncTime = (harness.CPU() - cpu).Seconds(), time.Since(began).Seconds()
	if footprint.PeakRSS, err = processMemory("VmHWM"); err != nil {
		return err
	}
	err = stop()
	footprint.Heap = harness.LiveHeap() - before
	return err
}

const (
	coldGets = 5000 // objects that are read
	warmGets = 20   // further reads of each of them, while it is referenced
)

// measureGets reads random objects.
func measureGets(inf *footprintInformer, footprint *Footprint) {
	keys := inf.keys()
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	keys = keys[:min(coldGets, len(keys))]
	objects := make([]any, len(keys))
	began := time.Now()
	for i, key := range keys {
		objects[i] = inf.get(key)
	}
	footprint.ColdGet = time.Since(began).Seconds() / float64(len(keys))
	began = time.Now()
	for range warmGets {
		for _, key := range keys {
			inf.get(key)
		}
	}
	footprint.WarmGet = time.Since(began).Seconds() / float64(len(keys)*warmGets)
	runtime.KeepAlive(objects)
}

// collections is the number of garbage collections that are measured.
const collections = 5

// measureGC measures a garbage collection.
func measureGC(footprint *Footprint) {
	harness.LiveHeap() // frees the objects that measureGets has read
	cpu := harness.CPU()
	for range collections {
		runtime.GC()
	}
	footprint.GCCPU = (harness.CPU() - cpu).Seconds() / collections
}
