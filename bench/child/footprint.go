package child

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/kinformer/kinformer/bench/harness"
)

// Holding is a collection that a child is to hold: it syncs, is weighed, and is read.
type Holding struct {
	Side    string // one of those that HolderOf knows
	Kind    string // Pods, Nodes or CustomResources
	URL     string // of a listserver
	Objects int    // that it serves
}

// The kinds of collections.
const (
	Pods            = "Pods"
	Nodes           = "Nodes"
	CustomResources = "CustomResources"
)

// Held is what it takes to hold a collection.
type Held struct {
	Heap     float64 // bytes more than before, after garbage collection
	PeakRSS  float64 // bytes of the process until synced
	RSSAbove float64 // bytes that PeakRSS is more than the idle process's
	SyncCPU  float64 // seconds
	SyncTime float64 // seconds

	Cold   float64 // seconds of a Get of an object that nobody holds
	Warm   float64 // seconds of a Get of one that somebody holds
	GCCPU  float64 // seconds of CPU of a cycle of the garbage collector
	GCTime float64 // seconds that it takes
}

// holdArg is the first of a child's arguments that asks for a Holding.
const holdArg = "hold"

// Hold has a collection held by a new process of this program.
func Hold(ctx context.Context, h Holding) (held Held, err error) {
	self, err := os.Executable()
	if err != nil {
		return held, err
	}
	command := exec.CommandContext(ctx, self, Arg, holdArg, "-side", h.Side, "-kind", h.Kind, "-url", h.URL, "-objects", strconv.Itoa(h.Objects))
	command.Env = append(os.Environ(), "KUBE_FEATURE_WatchListClient=false")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return held, fmt.Errorf("%s of %d %s in a process of its own: %w", h.Side, h.Objects, h.Kind, err)
	}
	return held, json.Unmarshal(out, &held)
}

// holdMain is the child.
func holdMain(args []string, out io.Writer) error {
	var h Holding
	flags := flag.NewFlagSet(holdArg, flag.ContinueOnError)
	flags.StringVar(&h.Side, "side", Packed, "whose informer")
	flags.StringVar(&h.Kind, "kind", Pods, "what is held: "+Pods+", "+Nodes+" or "+CustomResources)
	flags.StringVar(&h.URL, "url", "", "the server")
	flags.IntVar(&h.Objects, "objects", 0, "how many objects it has")
	cpuProfile := flags.String("cpuprofile", "", "write a CPU profile of the sync to this file")
	memProfile := flags.String("memprofile", "", "write a profile of the heap that is held to this file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *memProfile != "" {
		runtime.MemProfileRate = 4096
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	holder, err := h.holder()
	if err != nil {
		return err
	}
	var held Held
	if err := errors.Join(holder.sync(ctx, h, &held, *cpuProfile), harness.HeapProfile(*memProfile)); err != nil {
		return err
	}
	read(holder, &held)
	collect(&held)
	holder.stop()
	<-holder.stopped
	return json.NewEncoder(out).Encode(held)
}

// sync has the holder sync, and weighs it.
func (holder *holder) sync(ctx context.Context, h Holding, held *Held, cpuProfile string) error {
	debug.FreeOSMemory()
	idle, err := memory("VmRSS")
	if err != nil {
		return err
	}
	before := heap()
	stop, err := harness.Profile(cpuProfile)
	if err != nil {
		return err
	}
	began, cpu := time.Now(), harness.CPU()
	holder.start(ctx)
	if err := until(ctx, holder.synced); err != nil {
		return fmt.Errorf("sync: %w, %d of %d objects told", err, holder.told.Load(), h.Objects)
	}
	objects := len(holder.keys()) // of a million Pods two may have one name
	if err := until(ctx, func() bool { return int(holder.told.Load()) >= objects }); err != nil || objects < h.Objects*99/100 {
		return fmt.Errorf("handler: %w, %d of %d objects told", err, holder.told.Load(), objects)
	}
	held.SyncCPU, held.SyncTime = (harness.CPU() - cpu).Seconds(), time.Since(began).Seconds()
	if held.PeakRSS, err = memory("VmHWM"); err != nil {
		return err
	}
	held.RSSAbove = held.PeakRSS - idle
	err = stop()
	held.Heap = heap() - before
	return err
}

// heap returns the bytes in use. Three times, since what is pooled goes late, and
// what has a cleanup later.
func heap() float64 {
	for range 3 {
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// reads is how many objects are got, each of them once while nobody holds it and
// warmReads times while somebody does.
const (
	reads     = 5000
	warmReads = 20
)

// read gets objects here and there.
func read(holder *holder, held *Held) {
	keys := holder.keys()
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	keys = keys[:min(reads, len(keys))]
	objects := make([]any, len(keys))
	began := time.Now()
	for i, key := range keys {
		objects[i] = holder.get(key)
	}
	held.Cold = time.Since(began).Seconds() / float64(len(keys))
	began = time.Now()
	for range warmReads {
		for _, key := range keys {
			holder.get(key)
		}
	}
	held.Warm = time.Since(began).Seconds() / float64(len(keys)*warmReads)
	runtime.KeepAlive(objects)
}

// cycles is how many cycles of the collector are measured.
const cycles = 5

// collect takes what a cycle of the garbage collector costs.
func collect(held *Held) {
	heap() // what was read
	began, cpu := time.Now(), harness.CPU()
	for range cycles {
		runtime.GC()
	}
	held.GCCPU, held.GCTime = (harness.CPU()-cpu).Seconds()/cycles, time.Since(began).Seconds()/cycles
}
