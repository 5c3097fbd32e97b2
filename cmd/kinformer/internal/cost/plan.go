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

	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/measure"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/reader"
	"github.com/kinformer/kinformer/internal/units"
)

// plan is what will be read.
type plan struct {
	estimates []reader.Estimate
	empty     []string // resources without objects
	skipped   []without

	objects, bytes, memory int64 // memory is that of the resource that takes the most
	requests               int
	unknown                bool // at least one resource has an unknown number of objects
}

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
	p.memory = max(p.memory, memoryFor(e.Objects, e.Bytes, e.ContentType))
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
	table := newColumns("RESOURCE", ">OBJECTS", ">BYTES", ">REQUESTS")
	for _, e := range p.estimates {
		objects, size, requests := units.Count(e.Objects), "~"+units.Bytes(e.Bytes), units.Count(e.Requests)
		if e.Unknown {
			objects, size, requests = "unknown", "unknown", "unknown"
		}
		table.add(e.Name(), objects, size, requests)
	}
	if len(p.estimates) > 0 {
		table.print(out)
	}
	p.printOthers(out)
	if len(p.estimates) > 0 {
		fmt.Fprintf(out, "\n%s of %s, ~%s, in %s to %s, at most %g a second (%v); ~%s of memory on this machine.\n",
			units.Plural(p.objects, "object"), units.Plural(len(p.estimates), "resource"), units.Bytes(p.bytes),
			units.Plural(p.requests, "request"), host, qps, p.duration(qps), units.Bytes(p.memory))
	}
	if memory > 0 && p.memory > memory {
		fmt.Fprintf(out, "That is more than half of this machine's memory, %s; a resource that takes more is not read to its end.\n", units.Bytes(memory))
	}
}

// printOthers prints which resources are not read.
func (p *plan) printOthers(out io.Writer) {
	const most = 8
	switch {
	case len(p.empty) > most:
		fmt.Fprintf(out, "without objects: %d resources\n", len(p.empty))
	case len(p.empty) > 0:
		fmt.Fprintf(out, "without objects: %s\n", command.Sanitize(strings.Join(p.empty, ", ")))
	}
	reasons, resources := []string{}, map[string][]string{}
	for _, s := range p.skipped {
		if resources[s.Reason] == nil {
			reasons = append(reasons, s.Reason)
		}
		resources[s.Reason] = append(resources[s.Reason], s.Resource)
	}
	for _, reason := range reasons {
		fmt.Fprintf(out, "skipped: %s (%s)\n", command.Sanitize(strings.Join(resources[reason], ", ")), command.Sanitize(reason))
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
