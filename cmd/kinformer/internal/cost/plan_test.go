// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"strings"
	"testing"

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
	if strings.ContainsAny(out.String(), "\x1b\a") || strings.Count(out.String(), "\n") != 6 {
		t.Errorf("printed %q", out.String())
	}
}
