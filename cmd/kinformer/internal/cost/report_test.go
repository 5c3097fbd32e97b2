// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"fmt"
	"strings"
	"testing"
)

// measuredOf returns a resource with caches of these heaps, in MB.
func measuredOf(heaps ...float64) measured {
	m := measured{Resource: "pods", Objects: 1}
	for i, heap := range heaps {
		m.Caches = append(m.Caches, cost{Cache: fmt.Sprint(i), HeapBytes: int64(heap * 1e6)})
	}
	m.choose()
	return m
}

func TestSimplestOfSimilarCachesIsChosen(t *testing.T) {
	for _, c := range []struct {
		heaps  []float64
		choice string
		saved  int64
	}{
		{[]float64{10, 7, 3, 2.6}, "2", 7e6},
		{[]float64{10, 7, 3.2, 2.6}, "3", 7_400_000},
		{[]float64{10, 9.6, 11}, "0", 0},
		{[]float64{10, 10, 5}, "2", 5e6},
		{[]float64{0.9, 0.1}, "", 0},
	} {
		if m := measuredOf(c.heaps...); m.Choice != c.choice || m.SavedBytes != c.saved {
			t.Errorf("%v: choice %q, which saves %d; want %q, %d", c.heaps, m.Choice, m.SavedBytes, c.choice, c.saved)
		}
	}
}

func TestSmallResourcesAreOneRow(t *testing.T) {
	r := report{Resources: []measured{measuredOf(0.9, 0.1)}}
	for range 9 {
		r.Resources = append(r.Resources, measuredOf(0.2, 0.3))
	}
	var out strings.Builder
	if err := r.writeTable(&out); err != nil {
		t.Fatal(err)
	}
	const want = "below 1 MB, 10 resources: 10 objects, 0 B on the wire\n\nThere is nothing to save.\n"
	if !strings.HasPrefix(out.String(), want) || strings.Contains(out.String(), "total") {
		t.Errorf("printed:\n%s", out.String())
	}
}
