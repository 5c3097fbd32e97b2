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
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/internal/testing/footprint"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// SyncJob is a child process that runs an informer of Pods: initial sync, then events, then a
// relist.
type SyncJob struct {
	Side     string // a key of syncInformers
	Server   Server // a podserver if Events or Stale is set
	Pods     int    // that the server has
	Handlers int    // zero is one
	Events   int    // updates to request after the sync
	Burst    int    // Pods that are updated several times each before others are; zero is all
	Change   dataset.Change
	Stale    int // Pods to change before the relist; if zero, there is none
}

// SyncCost is the result of a SyncJob.
type SyncCost struct {
	PeakRSS   float64 // bytes above the idle process, until synced
	SyncCPU   float64 // seconds, until synced
	SyncTime  float64 // seconds, until synced
	EventsCPU float64 // seconds, for all events

	RelistCPU         float64 // seconds, from the end of the watch until all updates were delivered
	RelistUpdates     float64 // updates delivered during the relist
	RelistAllocations float64 // until the informer had the list
}

// RunSync runs the job in a child process.
func RunSync(ctx context.Context, job SyncJob) (cost SyncCost, err error) {
	err = run(ctx, job.Side, &cost,
		"-side", job.Side, "-url", job.Server.URL, "-ca", job.Server.CAFile, "-token", job.Server.Token, "-pods", strconv.Itoa(job.Pods),
		"-handlers", strconv.Itoa(max(1, job.Handlers)), "-events", strconv.Itoa(job.Events), "-burst", strconv.Itoa(job.Burst), "-change", string(job.Change), "-stale", strconv.Itoa(job.Stale))
	if err != nil {
		return SyncCost{}, fmt.Errorf("%s: %w", job.Side, err)
	}
	return cost, nil
}

func syncMain(args []string, out io.Writer) error {
	var job SyncJob
	flags := flag.NewFlagSet(Arg, flag.ContinueOnError)
	flags.StringVar(&job.Side, "side", "", "informer to run")
	flags.StringVar(&job.Server.URL, "url", "", "URL of the server")
	flags.StringVar(&job.Server.CAFile, "ca", "", "CA file, for HTTPS")
	flags.StringVar(&job.Server.Token, "token", "", "bearer token")
	flags.IntVar(&job.Pods, "pods", 0, "number of Pods on the server")
	flags.IntVar(&job.Handlers, "handlers", 1, "number of handlers")
	flags.IntVar(&job.Events, "events", 0, "number of updates to request after the initial sync")
	flags.IntVar(&job.Burst, "burst", 0, "number of Pods that are updated several times each before others are; 0 for all")
	flags.StringVar((*string)(&job.Change), "change", "", "what the updates change: nothing, status or node")
	flags.IntVar(&job.Stale, "stale", 0, "number of Pods to change before a relist; 0 for no relist")
	profile := flags.String("cpuprofile", "", "write a CPU profile to this file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	stop, err := harness.StartCPUProfile(*profile)
	if err != nil {
		return err
	}
	cost, err := job.do(ctx)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(cost)
}

// do runs the informer and measures its cost.
func (job SyncJob) do(ctx context.Context) (cost SyncCost, err error) {
	newInformer, ok := syncInformers()[job.Side]
	if !ok {
		return cost, fmt.Errorf("unknown side %q", job.Side)
	}
	counts := newCounts(job.Pods, max(1, job.Handlers))
	inf, err := newInformer(job.Server.config(), counts)
	if err != nil {
		return cost, err
	}
	debug.FreeOSMemory()
	idle, _, err := process.Memory()
	if err != nil {
		return cost, err
	}
	began, cpu := time.Now(), process.CPU()
	stopped := inf.run(ctx)
	if err := footprint.Poll(ctx, func() bool { return inf.synced() && counts.added() == job.Pods }); err != nil {
		return cost, fmt.Errorf("initial sync: %w after %d of %d Pods", err, counts.added(), job.Pods)
	}
	cost.SyncCPU, cost.SyncTime = (process.CPU() - cpu).Seconds(), time.Since(began).Seconds()
	_, peak, err := process.Memory()
	if err != nil {
		return cost, err
	}
	cost.PeakRSS = peak - idle
	err = errors.Join(job.measureEvents(ctx, counts, &cost), job.measureRelist(ctx, inf, counts, &cost))
	inf.stop()
	<-stopped
	return cost, err
}

// measureEvents requests updates and waits until all handlers have received them.
func (job SyncJob) measureEvents(ctx context.Context, counts counts, cost *SyncCost) error {
	if job.Events == 0 {
		return nil
	}
	before, cpu := counts.updated(), process.CPU()
	if _, err := job.post(ctx, "update", job.Events); err != nil {
		return err
	}
	if err := footprint.Poll(ctx, func() bool { return counts.updated()-before >= job.Events }); err != nil {
		return fmt.Errorf("events: %w after %d of %d updates", err, counts.updated()-before, job.Events)
	}
	cost.EventsCPU = (process.CPU() - cpu).Seconds()
	return nil
}

// measureRelist expires the watch and waits until the informer has the server's version and
// delivers no further updates.
func (job SyncJob) measureRelist(ctx context.Context, inf syncInformer, counts counts, cost *SyncCost) error {
	if job.Stale == 0 {
		return nil
	}
	var memory, after runtime.MemStats
	runtime.ReadMemStats(&memory)
	before, cpu := counts.updated(), process.CPU()
	version, err := job.post(ctx, "expire", job.Stale)
	if err != nil {
		return err
	}
	if err := footprint.Poll(ctx, func() bool { return inf.version() == version }); err != nil {
		return fmt.Errorf("relist: %w at version %s, want %s", err, inf.version(), version)
	}
	runtime.ReadMemStats(&after)
	last := -1
	if err := footprint.PollEvery(ctx, 100*time.Millisecond, func() bool {
		now := counts.updated()
		settled := now == last && now-before >= job.Stale
		last = now
		return settled
	}); err != nil {
		return fmt.Errorf("relist: %w after %d updates", err, counts.updated()-before)
	}
	cost.RelistCPU, cost.RelistUpdates = (process.CPU() - cpu).Seconds(), float64(counts.updated()-before)
	cost.RelistAllocations = float64(after.Mallocs - memory.Mallocs)
	return nil
}

// post makes the podserver change count Pods and returns the resourceVersion after it.
func (job SyncJob) post(ctx context.Context, action string, count int) (string, error) {
	address := job.Server.URL + "/bench/" + action + "?" + url.Values{"count": {strconv.Itoa(count)}, "burst": {strconv.Itoa(job.Burst)}, "change": {string(job.Change)}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s %s", address, response.Status, body)
	}
	return string(body), err
}
