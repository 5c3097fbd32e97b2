// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/measure"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/reader"
	"github.com/kinformer/kinformer/internal/units"
)

// plan is what will be read.
type plan struct {
	estimates []reader.Estimate
	empty     []string // resources without objects
	skipped   []without

	objects, bytes int64
	sizes          bounds // of the bytes
	memory         bounds // of the resource that takes the most
	requests       int
	unknown        bool // at least one resource has an unknown number of objects
}

// bounds are the least and the most that is likely.
type bounds struct{ least, most int64 }

// spread is by how much the average object of a resource usually differs in size from the first
// one.
const spread = 3

// boundsOf returns the bounds of the bytes of a resource, of which one object is known.
func boundsOf(e reader.Estimate) bounds {
	if e.Objects == 1 {
		return bounds{e.Bytes, e.Bytes}
	}
	return bounds{e.Bytes / spread, e.Bytes * spread}
}

func (b bounds) String() string {
	if b.least == b.most {
		return units.Bytes(b.least)
	}
	return units.Bytes(b.least) + " to " + units.Bytes(b.most)
}

// isSmall reports whether a resource is likely to have less than 1 MB.
func isSmall(e reader.Estimate) bool { return !e.Unknown && boundsOf(e).most < 1_000_000 }

// makePlan estimates each resource with one request. A resource that the server refuses to list is
// skipped if all are selected, and an error if it was named.
func (s *session) makePlan(chosen *selection) (*plan, error) {
	p := &plan{skipped: chosen.skipped}
	for i, r := range chosen.resources {
		if i > 0 {
			s.progress.update("plan", "%d of %d resources", i, len(chosen.resources))
		}
		e, err := reader.EstimateResource(s.client, r, s.options.cluster.Namespace(), measure.Accepts(r.GroupVersion().WithKind(r.Kind)))
		switch {
		case err == nil:
			p.add(e, s.limits.MemoryFor)
		case s.options.all && reader.IsRefusal(err):
			p.skipped = append(p.skipped, without{r.Name(), refusal(err)})
		default:
			return nil, fmt.Errorf("list %s: %w", r.Name(), err)
		}
	}
	s.progress.clear()
	return p, nil
}

func (p *plan) add(e reader.Estimate, memoryFor func(int64, int64, string) int64) {
	if e.Objects == 0 {
		p.empty = append(p.empty, e.Name())
		return
	}
	p.estimates = append(p.estimates, e)
	p.objects += e.Objects
	p.bytes += e.Bytes
	p.requests += e.Requests
	sizes := boundsOf(e)
	p.sizes.least += sizes.least
	p.sizes.most += sizes.most
	p.memory.least = max(p.memory.least, memoryFor(e.Objects, sizes.least, e.ContentType))
	p.memory.most = max(p.memory.most, memoryFor(e.Objects, sizes.most, e.ContentType))
	p.unknown = p.unknown || e.Unknown
}

func refusal(err error) string {
	if apierrors.IsForbidden(err) {
		return "may not be listed"
	}
	return "list failed: " + err.Error()
}

// print prints the plan. memory is the limit, half of the machine's.
func (p *plan) print(out io.Writer, host string, qps float64, memory int64) {
	p.printResources(out)
	p.printOthers(out)
	if len(p.estimates) > 0 {
		fmt.Fprintln(out)
		printWrapped(out, "", fmt.Sprintf("%s of %s, %s, in %s to %s, at most %g a second (%v); %s of memory on this machine.",
			units.Plural(p.objects, "object"), units.Plural(len(p.estimates), "resource"), p.sizes,
			units.Plural(p.requests, "request"), host, qps, p.duration(qps), p.memory))
	}
	if p.sizes.least < p.sizes.most {
		printWrapped(out, "", "The sizes are extrapolated from one object of each resource: from a third to three times its size. ConfigMaps and custom resources can differ more.")
	}
	if memory > 0 && p.memory.most > memory {
		printWrapped(out, "", "That may be more than half of this machine's memory, "+units.Bytes(memory)+"; a resource that takes more is not read to its end.")
	}
}

// printResources prints what is read. Many small resources are one row.
func (p *plan) printResources(out io.Writer) {
	table := newColumns("RESOURCE", ">OBJECTS", ">BYTES")
	small, sum := 0, plan{}
	for _, e := range p.estimates {
		if isSmall(e) {
			small++
			sum.objects += e.Objects
			sum.sizes.least += boundsOf(e).least
			sum.sizes.most += boundsOf(e).most
		}
	}
	for _, e := range p.estimates {
		switch {
		case e.Unknown:
			table.add(e.Name(), "unknown", "unknown")
		case small <= maxNames || !isSmall(e):
			table.add(e.Name(), units.Count(e.Objects), boundsOf(e).String())
		}
	}
	if small > maxNames {
		table.add(fmt.Sprintf("%d resources, probably below 1 MB", small), units.Count(sum.objects), sum.sizes.String())
	}
	if len(p.estimates) > 0 {
		table.print(out)
	}
}

// printOthers prints which resources are not read.
func (p *plan) printOthers(out io.Writer) {
	if len(p.empty) > 0 {
		printWrapped(out, "  ", "without objects: "+few(p.empty))
	}
	reasons, resources := []string{}, map[string][]string{}
	for _, s := range p.skipped {
		if resources[s.Reason] == nil {
			reasons = append(reasons, s.Reason)
		}
		resources[s.Reason] = append(resources[s.Reason], s.Resource)
	}
	for _, reason := range reasons {
		printWrapped(out, "  ", fmt.Sprintf("skipped: %s (%s)", strings.Join(resources[reason], ", "), reason))
	}
}

// duration returns the least time that the requests take.
func (p *plan) duration(qps float64) time.Duration {
	return time.Duration(float64(p.requests) / qps * float64(time.Second)).Round(100 * time.Millisecond)
}

// check returns an error if there is nothing to read, or more than the limits allow. Whether the
// memory suffices is not known before more than one object was read.
func (p *plan) check(limits reader.Limits) error {
	const large = "; --large reads them nevertheless"
	switch {
	case len(p.estimates) == 0:
		return errors.New("nothing to measure: no resource has objects")
	case limits.Objects > 0 && p.unknown:
		return errors.New("the server does not say how many objects there are" + large)
	case limits.Objects > 0 && p.objects > limits.Objects:
		return fmt.Errorf("more than %s"+large, units.Plural(limits.Objects, "object"))
	case limits.Bytes > 0 && p.bytes > limits.Bytes:
		return fmt.Errorf("probably more than %s"+large, units.Bytes(limits.Bytes))
	}
	return nil
}
