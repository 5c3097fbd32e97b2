// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/measure"
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
	// Choice is the cache to choose, and SavedBytes how much smaller its heap is than the first
	// cache's. A small collection has none.
	Choice     string `json:"choice,omitempty"`
	SavedBytes int64  `json:"savedBytes,omitempty"`
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
HEAP is what the synced cache adds to the heap of a process, after garbage
collection, and its share of the first cache's. PEAK RSS is the most that it
adds to the resident memory, and CPU the time of the process, both until it has
synced. All caches read protobuf where the type has it. kinformer's are streamed
(cache.EnableStreaming); the packed ones have a key handler, the others event
handlers. Packed objects are decoded when they are read, which suits programs
that read few at a time: see docs/memory.md of the repository.
Resources below 1 MB with the first cache are one row: a cache takes a few
hundred kB without any object.
`

func (r *report) writeTable(out io.Writer) error {
	if len(r.Resources) == 0 {
		return nil
	}
	table := newColumns("CACHE", ">HEAP", ">", ">PEAK RSS", ">CPU")
	var large, small []measured
	var names []string // of the small ones
	for _, m := range r.Resources {
		if m.isSmall() {
			small, names = append(small, m), append(names, m.Resource)
			continue
		}
		large = append(large, m)
		m.addTo(table)
	}
	if len(large) == 0 {
		table.rows = nil // no header
	}
	if len(small) > 0 {
		table.add(total("below 1 MB, "+few(names), small).size())
	}
	if len(large) > 1 {
		total(fmt.Sprintf("total of %d resources", len(r.Resources)), r.Resources).addTo(table)
	}
	table.print(out)
	fmt.Fprintln(out)
	printChoices(out, large)
	_, err := io.WriteString(out, legend)
	return err
}

// total returns the sums of resources. Peak memory has none: the peaks are not at the same time.
func total(name string, resources []measured) measured {
	sum := measured{Resource: name, Caches: make([]cost, len(resources[0].Caches))}
	for _, m := range resources {
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

// size returns a heading.
func (m measured) size() string {
	return fmt.Sprintf("%s: %s, %s on the wire", m.Resource, units.Plural(m.Objects, "object"), units.Bytes(m.WireBytes))
}

// addTo adds a heading and a line for each cache to a table.
func (m measured) addTo(table *columns) {
	table.add(m.size())
	for _, c := range m.Caches {
		table.add("  "+c.Cache, units.Bytes(c.HeapBytes), percent(c.HeapBytes, m.Caches[0].HeapBytes), c.peak(), cpuTime(c.CPUSeconds))
	}
}

// isSmall reports whether the figures say nothing, as a cache takes a few hundred kB without any
// object.
func (m measured) isSmall() bool { return m.Caches[0].HeapBytes < 1_000_000 }

// choose sets the choice: the first cache, and so the simplest, whose heap exceeds the smallest by
// at most 5 % of the first one's.
func (m *measured) choose() {
	if m.isSmall() {
		return
	}
	first := m.Caches[0].HeapBytes
	least := slices.MinFunc(m.Caches, func(a, b cost) int { return cmp.Compare(a.HeapBytes, b.HeapBytes) }).HeapBytes
	i := slices.IndexFunc(m.Caches, func(c cost) bool { return c.HeapBytes-least <= first/20 })
	m.Choice, m.SavedBytes = m.Caches[i].Cache, first-m.Caches[i].HeapBytes
}

// heapOf returns the heap of a variant, or zero if that was not measured.
func (m measured) heapOf(v measure.Variant) (heap int64) {
	for _, c := range m.Caches {
		if c.Cache == string(v) {
			heap = c.HeapBytes
		}
	}
	return heap
}

// printChoices prints what to choose for which resources, and what that saves.
func printChoices(out io.Writer, resources []measured) {
	if len(resources) == 0 {
		fmt.Fprintln(out, "There is nothing to save.")
		return
	}
	caches := resources[0].Caches
	for _, c := range append(slices.Clone(caches[1:]), caches[0]) {
		var names []string
		var saved, first int64
		for _, m := range resources {
			if m.Choice == c.Cache {
				names, saved, first = append(names, m.Resource), saved+m.SavedBytes, first+m.Caches[0].HeapBytes
			}
		}
		of := strings.Join(names, ", ")
		switch {
		case len(names) == 0:
		case c == caches[0]:
			printWrapped(out, "  ", "No cache saves more than 5 % of "+c.Cache+"'s heap for "+of+".")
		default:
			printWrapped(out, "  ", fmt.Sprintf("Choose %q for %s: it saves %s of %s's %s.", c.Cache, of, units.Bytes(saved), caches[0].Cache, units.Bytes(first)))
		}
	}
	for _, m := range resources {
		if packed, live := m.heapOf(measure.Packed), m.heapOf(measure.Live); packed > live {
			printWrapped(out, "  ", fmt.Sprintf("Packing makes %s larger: %s instead of %s.", m.Resource, units.Bytes(packed), units.Bytes(live)))
		}
	}
}

func percent(part, whole int64) string {
	return strconv.FormatInt((100*part+whole/2)/whole, 10) + " %"
}

// maxNames is the number of small or empty resources that are named.
const maxNames = 8

// few returns the names of resources, or their number if there are many.
func few(names []string) string {
	if len(names) > maxNames {
		return units.Plural(len(names), "resource")
	}
	return strings.Join(names, ", ")
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
