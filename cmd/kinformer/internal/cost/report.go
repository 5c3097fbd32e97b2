// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/kinformer/kinformer/internal/units"
)

// report is the result of the command, and its form in JSON.
type report struct {
	Resources []measured `json:"resources"`
	// Empty are the resources without objects.
	Empty   []string  `json:"empty,omitempty"`
	Skipped []without `json:"skipped,omitempty"`
	Failed  []without `json:"failed,omitempty"`
}

// without is a resource that was not measured.
type without struct {
	Resource string `json:"resource"`
	Reason   string `json:"reason"`
}

// measured is what caches of a resource cost.
type measured struct {
	Resource  string `json:"resource"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Objects   int    `json:"objects"`
	WireBytes int64  `json:"wireBytes"`
	Format    string `json:"format"`
	Caches    []cost `json:"caches"`
}

// cost is what one cache costs.
type cost struct {
	Cache        string  `json:"cache"`
	HeapBytes    int64   `json:"heapBytes"`
	PeakRSSBytes int64   `json:"peakRSSBytes,omitempty"`
	CPUSeconds   float64 `json:"cpuSeconds"`
	Seconds      float64 `json:"seconds"`
}

func (r *report) writeJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

const legend = `
WIRE is the size of the responses, decompressed. HEAP is what the synced cache adds to the heap of a process, after
garbage collection, and its share of the first cache's, from 1 MB on. Less than that is mostly what a cache takes without
any object. PEAK RSS is what it adds to the resident memory at most, and CPU the time of the process, both until the
cache has synced. All caches read protobuf where the type has it.
kinformer's are streamed (cache.EnableStreaming); the packed ones have a key handler, the others event handlers.
`

func (r *report) writeTable(out io.Writer) error {
	if len(r.Resources) == 0 {
		return nil
	}
	table := newColumns("RESOURCE", ">OBJECTS", ">WIRE", "CACHE", ">HEAP", ">", ">PEAK RSS", ">CPU")
	for _, m := range r.Resources {
		m.addTo(table)
	}
	if len(r.Resources) > 1 {
		r.total().addTo(table)
	}
	table.print(out)
	_, err := io.WriteString(out, legend)
	return err
}

// total returns the sums of all resources. Peak memory has none: the peaks are not at the same time.
func (r *report) total() measured {
	sum := measured{Resource: "total", Caches: make([]cost, len(r.Resources[0].Caches))}
	for _, m := range r.Resources {
		sum.Objects += m.Objects
		sum.WireBytes += m.WireBytes
		for i, c := range m.Caches {
			sum.Caches[i].Cache = c.Cache
			sum.Caches[i].HeapBytes += c.HeapBytes
			sum.Caches[i].CPUSeconds += c.CPUSeconds
		}
	}
	return sum
}

// addTo adds a line for each cache to a table.
func (m measured) addTo(table *columns) {
	first := []string{m.Resource, units.Count(m.Objects), units.Bytes(m.WireBytes)}
	for _, c := range m.Caches {
		table.add(append(first, c.Cache, units.Bytes(c.HeapBytes), c.share(m.Caches[0]), c.peak(), cpuTime(c.CPUSeconds))...)
		first = []string{"", "", ""}
	}
}

// share returns the share of another cache's heap. That of a few objects says nothing: it consists
// of what each cache needs without any.
func (c cost) share(other cost) string {
	if other.HeapBytes < 1_000_000 {
		return ""
	}
	return strconv.FormatInt((100*c.HeapBytes+other.HeapBytes/2)/other.HeapBytes, 10) + " %"
}

// peak returns the peak memory, or "" where it is unknown.
func (c cost) peak() string {
	if c.PeakRSSBytes <= 0 {
		return ""
	}
	return units.Bytes(c.PeakRSSBytes)
}

// cpuTime returns a time in milliseconds, or in seconds from one on.
func cpuTime(seconds float64) string {
	if seconds < 1 {
		return fmt.Sprintf("%.0f ms", seconds*1000)
	}
	return fmt.Sprintf("%.2f s", seconds)
}
