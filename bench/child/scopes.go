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
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/internal/testing/footprint"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// ScopesJob is a child process that holds the Pods of many namespaces.
type ScopesJob struct {
	Side       string        // a key of scopesInformers
	URL        string        // of a server of the namespaces of Namespace
	Namespaces int           // that are held
	Pods       int           // in each namespace
	Added      int           // further namespaces, which are added one after the other
	Idle       time.Duration // for which the synced informers are measured; if zero, they are not
}

// Namespace returns the name of the n-th namespace.
func Namespace(n int) string { return fmt.Sprintf("team-%04d", n) }

// ScopesCost is the result of a ScopesJob.
type ScopesCost struct {
	Heap       float64 // bytes, after garbage collection, above the idle process
	Goroutines float64 // above the idle process
	Allocs     float64 // allocations on the heap, until synced
	CPU        float64 // seconds, until synced
	Time       float64 // seconds, until synced
	Switches   float64 // context switches a second while idle

	// Medians of the seconds until the Pods of a further namespace are delivered: by adding it, and
	// by an informer of it alone, ours and client-go's. They are zero if Added is.
	AddTime, AloneTime, ClientGoTime float64
}

// scopesArg is the argument after Arg that selects a ScopesJob.
const scopesArg = "scopes"

// RunScopes runs the job in a child process.
func RunScopes(ctx context.Context, job ScopesJob) (cost ScopesCost, err error) {
	err = run(ctx, job.Side, &cost, scopesArg, "-side", job.Side, "-url", job.URL,
		"-namespaces", strconv.Itoa(job.Namespaces), "-pods", strconv.Itoa(job.Pods), "-added", strconv.Itoa(job.Added), "-idle", job.Idle.String())
	if err != nil {
		return ScopesCost{}, fmt.Errorf("%s of %d namespaces: %w", job.Side, job.Namespaces, err)
	}
	return cost, nil
}

func scopesMain(args []string, out io.Writer) error {
	var job ScopesJob
	flags := flag.NewFlagSet(scopesArg, flag.ContinueOnError)
	flags.StringVar(&job.Side, "side", Kinformer, "informer to run")
	flags.StringVar(&job.URL, "url", "", "URL of the server")
	flags.IntVar(&job.Namespaces, "namespaces", 0, "number of namespaces to hold")
	flags.IntVar(&job.Pods, "pods", 0, "number of Pods in each namespace")
	flags.DurationVar(&job.Idle, "idle", 0, "time to measure the synced informers for")
	flags.IntVar(&job.Added, "added", 0, "number of namespaces to add then")
	memProfile := addMemProfile(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cost, err := job.do(ctx, *memProfile)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(cost)
}

// do runs the informer and measures its cost.
func (job ScopesJob) do(ctx context.Context, memProfile string) (cost ScopesCost, err error) {
	newInformer, ok := scopesInformers()[job.Side]
	if !ok {
		return cost, fmt.Errorf("unknown side %q", job.Side)
	}
	counts := newCounts(1<<30, 1)
	inf, err := newInformer(job, counts)
	if err != nil {
		return cost, err
	}
	debug.FreeOSMemory()
	heap, goroutines, allocs := process.LiveHeap(), runtime.NumGoroutine(), mallocs()
	began, cpu := time.Now(), process.CPU()
	stopped := inf.run(ctx)
	want := job.Namespaces * job.Pods
	if err := footprint.Poll(ctx, func() bool { return inf.synced() && counts.added() == want }); err != nil {
		return cost, fmt.Errorf("initial sync: %w after %d of %d Pods", err, counts.added(), want)
	}
	cost.CPU, cost.Time, cost.Allocs = (process.CPU() - cpu).Seconds(), time.Since(began).Seconds(), mallocs()-allocs
	if err := footprint.Poll(ctx, func() bool { return inf.watches.n.Load() >= int64(job.Namespaces) }); err != nil {
		return cost, fmt.Errorf("%d of %d watches are open: %w", inf.watches.n.Load(), job.Namespaces, err)
	}
	cost.Goroutines, cost.Heap = float64(runtime.NumGoroutine()-goroutines), process.LiveHeap()-heap
	err = errors.Join(harness.WriteHeapProfile(memProfile), job.measureIdle(ctx, &cost), job.measureAdded(ctx, inf, counts, &cost))
	inf.stop()
	<-stopped
	return cost, err
}

// mallocs returns the number of allocations on the heap since the process began.
func mallocs() float64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.Mallocs)
}

// measureAdded adds namespaces, each beside informers of two other namespaces.
func (job ScopesJob) measureAdded(ctx context.Context, inf scopesInformer, counts counts, cost *ScopesCost) error {
	var add, alone, clientGo []float64
	for n := range job.Added {
		namespaces := job.Namespaces + 3*n
		added, err := job.timeAdded(ctx, inf, counts, Namespace(namespaces))
		if err != nil {
			return err
		}
		ours, err := job.timeAlone(ctx, loneInformer(Namespace(namespaces+1)))
		if err != nil {
			return err
		}
		theirs, err := job.timeAlone(ctx, loneClientGo(Namespace(namespaces+2)))
		if err != nil {
			return err
		}
		add, alone, clientGo = append(add, added), append(alone, ours), append(clientGo, theirs)
	}
	cost.AddTime, cost.AloneTime, cost.ClientGoTime = median(add), median(alone), median(clientGo)
	return nil
}

// timeAdded returns the seconds from adding a namespace until its Pods are delivered.
func (job ScopesJob) timeAdded(ctx context.Context, inf scopesInformer, counts counts, namespace string) (float64, error) {
	before, began := counts.added(), time.Now()
	if err := inf.add(namespace); err != nil {
		return 0, err
	}
	err := pollOften(ctx, func() bool { return counts.added() == before+job.Pods })
	return time.Since(began).Seconds(), err
}

// timeAlone returns the seconds from the construction of an informer of one namespace until its
// Pods are delivered.
func (job ScopesJob) timeAlone(ctx context.Context, newInformer newSyncInformer) (float64, error) {
	config, counts := Server{URL: job.URL}.config(), newCounts(job.Pods, 1)
	began := time.Now()
	inf, err := newInformer(config, counts)
	if err != nil {
		return 0, err
	}
	stopped := inf.run(ctx)
	err = pollOften(ctx, func() bool { return counts.added() == job.Pods })
	seconds := time.Since(began).Seconds()
	inf.stop()
	<-stopped
	return seconds, err
}

// pollOften is footprint.Poll for times of a few milliseconds.
func pollOften(ctx context.Context, condition func() bool) error {
	return footprint.PollEvery(ctx, 50*time.Microsecond, condition)
}

func median(figures []float64) float64 {
	if len(figures) == 0 {
		return 0
	}
	slices.Sort(figures)
	return figures[len(figures)/2]
}
