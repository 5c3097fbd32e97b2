// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package soak_test

import (
	"runtime"
	"testing"
	"time"
)

// sample is what was measured at the end of a cycle, when nothing changes.
type sample struct {
	at         time.Duration // since the run began
	heap       uint64        // bytes after a garbage collection
	goroutines int
}

const (
	maxRequests = 22 // of an informer in any minute
	// warmUp is the number of cycles before the heap is measured: the server's history and the
	// handlers' backlogs reach their limits first.
	warmUp = 2
	// maxHeapGrowth is how much the heap may grow during the run, as a part of its mean. The tables
	// by which informers share equal strings have a limited size, and fill slowly.
	maxHeapGrowth = 0.1
	// maxMoreGoroutines is by how much the number of goroutines may differ between two cycles: the
	// HTTP clients keep some connections open, and others not.
	maxMoreGoroutines = 40
)

// measure takes a sample, prints it, and checks the rates of requests.
func (s *soak) measure(recovery time.Duration) {
	runtime.GC()
	runtime.GC() // the first one clears the weak pointers to decoded objects, the second their memory
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	sample := sample{time.Since(s.began), memory.HeapAlloc, runtime.NumGoroutine()}
	s.samples = append(s.samples, sample)
	highest, calls, coalesced := 0, 0, uint64(0)
	for _, i := range s.informers {
		busiest := i.busiestMinute()
		if len(busiest) > maxRequests {
			s.t.Errorf("%s: %d requests in a minute, want at most %d:\n%v", i.name, len(busiest), maxRequests, busiest)
		}
		highest = max(highest, len(busiest))
		calls += i.calls()
		for _, h := range i.informer.Status().Handlers {
			coalesced += h.Coalesced
		}
	}
	s.print("%8s  %5d faults  %7d writes  %8d calls  %7d coalesced  at most %2d requests a minute  recovered in %6s  %4d goroutines  %5.1f MB",
		sample.at.Round(time.Second), s.faults.injected, s.truth.writes, calls, coalesced, highest,
		recovery.Round(100*time.Millisecond), sample.goroutines, float64(sample.heap)/1e6)
}

// checkSamples checks that neither the heap nor the number of goroutines grew.
func (s *soak) checkSamples() {
	if len(s.samples) < 2*warmUp+2 {
		s.print("%d cycles: too few to see growth", len(s.samples))
		return
	}
	measured := s.samples[warmUp:]
	growth, mean := heapGrowth(measured)
	more := measured[len(measured)-1].goroutines - measured[0].goroutines
	s.print("\nfrom cycle %d to %d: the heap grew by %.1f %% of its mean of %.1f MB, the goroutines by %d", warmUp+1, len(s.samples), 100*growth,
		mean/1e6, more)
	if growth > maxHeapGrowth || more > maxMoreGoroutines {
		s.t.Errorf("want at most %.0f %% and %d", 100*maxHeapGrowth, maxMoreGoroutines)
	}
}

// heapGrowth returns the growth of the heap between the first and the last sample, as a part of
// its mean, by the least squares line through all samples.
func heapGrowth(samples []sample) (growth, mean float64) {
	var x, y, xx, xy float64
	for _, s := range samples {
		at, heap := s.at.Seconds(), float64(s.heap)
		x, y, xx, xy = x+at, y+heap, xx+at*at, xy+at*heap
	}
	n := float64(len(samples))
	slope := (n*xy - x*y) / (n*xx - x*x)
	duration := samples[len(samples)-1].at - samples[0].at
	return slope * duration.Seconds() / (y / n), y / n
}

func TestHeapGrowthIsThatOfALine(t *testing.T) {
	var samples []sample
	for i := range 5 {
		samples = append(samples, sample{at: time.Duration(i) * time.Minute, heap: uint64(90 + 5*i)})
	}
	if growth, mean := heapGrowth(samples); growth < 0.199 || growth > 0.201 || mean != 100 {
		t.Errorf("from 90 to 110: growth %v of %v, want 0.2 of 100", growth, mean)
	}
}
