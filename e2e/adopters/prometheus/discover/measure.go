// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/targetgroup"
)

// measurement is a discovery of Pods that a podserver has, and of updates that it is asked for.
type measurement struct {
	url           string
	pods, updates int
}

// cost is the result of a measurement.
type cost struct {
	PeakRSS      float64 // bytes above the idle process, until all Pods were discovered
	SyncCPU      float64 // seconds, until all Pods were discovered
	Heap         float64 // bytes, after garbage collection, above the idle process
	UpdatesCPU   float64 // seconds, for all updates
	UpdateAllocs float64 // for each update
}

// do measures a discovery and writes its cost in JSON. It keeps the newest group of each source, as
// prometheus does.
func (m measurement) do(ctx context.Context, discoverer discovery.Discoverer, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	heapBefore := liveHeap()
	debug.FreeOSMemory()
	idle, err := memory("VmRSS")
	if err != nil {
		return err
	}
	before := cpu()
	newest := make(map[string]*targetgroup.Group)
	groups, stopped := start(ctx, discoverer)
	receive := func(count int) error {
		for received := 0; received < count; {
			select {
			case <-ctx.Done():
				return fmt.Errorf("%w after %d of %d target groups", ctx.Err(), received, count)
			case batch := <-groups:
				for _, g := range batch {
					newest[g.Source] = g
				}
				received += len(batch)
			}
		}
		return nil
	}
	if err := receive(m.pods); err != nil {
		return err
	}
	result := cost{SyncCPU: cpu() - before}
	peak, err := memory("VmHWM")
	if err != nil {
		return err
	}
	result.PeakRSS, result.Heap = peak-idle, liveHeap()-heapBefore

	before, allocsBefore := cpu(), allocs()
	requested := make(chan error, 1)
	go func() { requested <- m.requestUpdates(ctx) }()
	if err := receive(m.updates); err != nil {
		return err
	}
	if err := <-requested; err != nil {
		return err
	}
	result.UpdatesCPU, result.UpdateAllocs = cpu()-before, (allocs()-allocsBefore)/float64(m.updates)
	cancel()
	<-stopped
	if len(newest) != m.pods {
		return fmt.Errorf("%d Pods discovered, want %d", len(newest), m.pods)
	}
	return json.NewEncoder(out).Encode(result)
}

// requestUpdates makes the podserver update Pods, each one once.
func (m measurement) requestUpdates(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url+"/bench/update?count="+strconv.Itoa(m.updates), nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("request updates: %s, %w", response.Status, err)
	}
	return nil
}

// liveHeap returns the bytes in use after garbage collection. It collects three times, since memory
// in pools, and memory with a cleanup, is freed by a later collection only.
func liveHeap() float64 {
	for range 3 {
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// allocs returns the number of allocations since the start.
func allocs() float64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.Mallocs)
}

// cpu returns the processor time of this process in seconds.
func cpu() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic("getrusage: " + err.Error()) // it fails only for invalid arguments
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// memory returns a field of /proc/self/status in bytes.
func memory(field string) (float64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kilobytes * 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no %s", field)
}
