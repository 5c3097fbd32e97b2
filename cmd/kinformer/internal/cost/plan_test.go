// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/reader"
)

func TestPlanIsCheckedAgainstTheLimits(t *testing.T) {
	pods := &cluster.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}}
	limits := reader.Limits{Objects: maxObjects, Bytes: maxBytes}
	for name, c := range map[string]struct {
		estimates []reader.Estimate
		limits    reader.Limits
		want      string
	}{
		"nothing":              {nil, limits, "nothing to measure: no resource has objects"},
		"empty":                {[]reader.Estimate{{Resource: pods}}, limits, "nothing to measure: no resource has objects"},
		"at the limits":        {[]reader.Estimate{{Resource: pods, Objects: maxObjects, Bytes: maxBytes}}, limits, ""},
		"too many":             {[]reader.Estimate{{Resource: pods, Objects: 50_001}}, limits, "more than 50,000 objects; --large reads them nevertheless"},
		"too many together":    {[]reader.Estimate{{Resource: pods, Objects: 50_000}, {Resource: pods, Objects: 1}}, limits, "more than 50,000 objects; --large reads them nevertheless"},
		"too large":            {[]reader.Estimate{{Resource: pods, Objects: 1, Bytes: maxBytes + 1}}, limits, "probably more than 1.00 GB; --large reads them nevertheless"},
		"unknown":              {[]reader.Estimate{{Resource: pods, Objects: 2, Unknown: true}}, limits, "the server does not say how many objects there are; --large reads them nevertheless"},
		"large":                {[]reader.Estimate{{Resource: pods, Objects: 50_001, Bytes: 2 * maxBytes}}, reader.Limits{}, ""},
		"large but none known": {[]reader.Estimate{{Resource: pods, Objects: 2, Unknown: true}}, reader.Limits{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := &plan{}
			for _, e := range c.estimates {
				p.add(e, func(int64, int64, string) int64 { return 0 })
			}
			got := ""
			if err := p.check(c.limits); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("error %q, want %q", got, c.want)
			}
		})
	}
}

func TestPlanNamesTheReasonsOnce(t *testing.T) {
	p := &plan{empty: []string{"a", "b"}, skipped: []without{{"c", "Events"}, {"d", "no watch"}, {"e", "Events"}}}
	var out strings.Builder
	p.print(&out, "http://server", 5, 0)
	if want := "without objects: a, b\nskipped: c, e (Events)\nskipped: d (no watch)\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

func TestPlanHasNoControlCharacters(t *testing.T) {
	evil := "a\x1b]0;title\a\nb"
	named := &cluster.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: evil}}
	p := &plan{empty: []string{evil}, skipped: []without{{evil, evil}}, estimates: []reader.Estimate{{Resource: named, Objects: 1}}}
	var out strings.Builder
	p.print(&out, "http://server", 5, 0)
	if strings.ContainsAny(out.String(), "\x1b\a") || strings.Count(out.String(), "\n") != 7 {
		t.Errorf("printed %q", out.String())
	}
}

func estimateOf(name string, objects, bytes int64) reader.Estimate {
	resource := &cluster.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: name}}
	return reader.Estimate{Resource: resource, Objects: objects, Bytes: bytes, Requests: 1}
}

// planText returns the plan of resources as it is printed.
func planText(estimates ...reader.Estimate) string {
	p := &plan{}
	for _, e := range estimates {
		p.add(e, func(_, bytes int64, _ string) int64 { return bytes })
	}
	var out strings.Builder
	p.print(&out, "http://server", 5, 10e6)
	return out.String()
}

// TestPlanGivesTheRangeOfSizes checks that the size of a single object is exact.
func TestPlanGivesTheRangeOfSizes(t *testing.T) {
	const want = `RESOURCE  OBJECTS               BYTES
pods          100  2.00 MB to 18.0 MB
nodes           1              600 kB

101 objects of 2 resources, 2.60 MB to 18.6 MB, in 2 requests to http://server,
at most 5 a second (400ms); 2.00 MB to 18.0 MB of memory on this machine.
The sizes are extrapolated from one object of each resource: from a third to
three times its size. ConfigMaps and custom resources can differ more.
That may be more than half of this machine's memory, 10.0 MB; a resource that
takes more is not read to its end.
`
	if diff := cmp.Diff(want, planText(estimateOf("pods", 100, 6e6), estimateOf("nodes", 1, 600_000))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := planText(estimateOf("nodes", 1, 600_000)); strings.Contains(got, "third") || strings.Contains(got, " to 6") {
		t.Errorf("printed a range for one object:\n%s", got)
	}
}

func TestManySmallResourcesAreOneRowOfThePlan(t *testing.T) {
	estimates := []reader.Estimate{estimateOf("pods", 100, 6e6)}
	for i := range 8 {
		estimates = append(estimates, estimateOf(fmt.Sprint("small-", i), 2, 1e5))
	}
	if got := planText(estimates...); !strings.Contains(got, "small-7 ") || strings.Contains(got, "probably") {
		t.Errorf("eight small resources:\n%s", got)
	}
	got := planText(append(estimates, estimateOf("small-8", 2, 1e5))...)
	if strings.Contains(got, "small-") || !strings.Contains(got, "\n9 resources, probably below 1 MB       18   300 kB to 2.70 MB\n") {
		t.Errorf("nine small resources:\n%s", got)
	}
}

func TestLongNamesHaveALineOfTheirOwn(t *testing.T) {
	name := strings.Repeat("x", 60)
	if got := planText(estimateOf(name, 100, 6e6)); !strings.Contains(got, "\n"+name+"\n  ") {
		t.Errorf("printed:\n%s", got)
	}
}
