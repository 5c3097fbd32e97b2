package cost

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
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
garbage collection, and its share of the first cache's. PEAK RSS is what it adds to the resident memory at most, and CPU
the time of the process, both until the cache has synced.
`

func (r *report) writeTable(out io.Writer) error {
	if len(r.Resources) == 0 {
		return nil
	}
	table := newColumns("RESOURCE", ">OBJECTS", ">WIRE", "CACHE", ">HEAP", ">", ">PEAK RSS", ">CPU")
	for _, m := range r.Resources {
		for i, c := range m.Caches {
			first := []string{"", "", ""}
			if i == 0 {
				first = []string{m.Resource, count(int64(m.Objects)), byteSize(m.WireBytes)}
			}
			table.add(append(first, c.cells(m.Caches[0])...)...)
		}
	}
	table.print(out)
	_, err := io.WriteString(out, legend)
	return err
}

// cells returns the cells of a cache, compared to the first one.
func (c cost) cells(first cost) []string {
	peak, share := "unknown", ""
	if c.PeakRSSBytes > 0 {
		peak = byteSize(c.PeakRSSBytes)
	}
	if first.HeapBytes > 0 {
		share = strconv.FormatInt((100*c.HeapBytes+first.HeapBytes/2)/first.HeapBytes, 10) + " %"
	}
	return []string{c.Cache, byteSize(c.HeapBytes), share, peak, fmt.Sprintf("%.2f s", c.CPUSeconds)}
}
