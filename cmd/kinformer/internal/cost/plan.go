package cost

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/reader"
)

// Bounds without --large.
const (
	maxObjects = 50_000
	maxBytes   = 1e9
)

// plan is what will be read.
type plan struct {
	estimates []reader.Estimate
	skipped   []Skipped

	objects, bytes, memory int64 // memory is that of the largest resource
	requests               int
	unknown                bool // at least one resource has an unknown number of objects
}

// makePlan estimates each resource with one request. A resource that may not be listed is skipped
// if all are selected, and an error if it was named.
func (s *session) makePlan(chosen *selection) (*plan, error) {
	p := &plan{skipped: chosen.skipped}
	for i, r := range chosen.resources {
		s.progress.update("plan", "%d of %d resources", i+1, len(chosen.resources))
		e, err := reader.EstimateResource(s.client, r, s.options.cluster.Namespace())
		switch {
		case err == nil:
			p.add(e, s.memoryFor)
		case s.options.all && isRefusal(err):
			p.skipped = append(p.skipped, Skipped{r.Name(), refusal(err)})
		default:
			return nil, fmt.Errorf("list %s: %w", r.Name(), err)
		}
	}
	s.progress.clear()
	return p, nil
}

func (p *plan) add(e reader.Estimate, memoryFor func(int64) int64) {
	p.estimates = append(p.estimates, e)
	p.objects += e.Objects
	p.bytes += e.Bytes
	p.requests += e.Requests
	p.memory = max(p.memory, memoryFor(e.Bytes))
	p.unknown = p.unknown || e.Unknown
}

// isRefusal reports whether an error is about one resource and not about the server.
func isRefusal(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && !apierrors.IsUnauthorized(err) || errors.Is(err, reader.ErrNotPaged)
}

func refusal(err error) string {
	if apierrors.IsForbidden(err) {
		return "may not be listed"
	}
	return "list failed: " + err.Error()
}

// print prints the plan.
func (p *plan) print(out io.Writer, client *cluster.Client, o *options) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "resource\tobjects\tbytes\trequests\t\n")
	for _, e := range p.estimates {
		objects, size := count(e.Objects), "~"+byteSize(e.Bytes)
		if e.Unknown {
			objects, size = "unknown", "unknown"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t\n", e.Name(), objects, size, e.Requests)
	}
	w.Flush() //nolint:errcheck // to stderr
	for _, s := range p.skipped {
		fmt.Fprintf(out, "skipped %s: %s\n", s.Resource, s.Reason)
	}
	pause := time.Duration(float64(p.requests) / o.qps * float64(time.Second)).Round(time.Second)
	fmt.Fprintf(out, "\n%s objects, ~%s, in %d requests to %s, at most %g a second (%v); ~%s of memory on this machine\n",
		count(p.objects), byteSize(p.bytes), p.requests, client.Host(), o.qps, pause, byteSize(p.memory))
}

// check returns an error if the plan exceeds a limit.
func (p *plan) check(o *options, memory int64) error {
	switch {
	case len(p.estimates) == 0:
		return errors.New("no resource to measure")
	case p.memory > memory:
		return fmt.Errorf("it would take %s of memory, more than %s, half of this machine's", byteSize(p.memory), byteSize(memory))
	case o.large:
	case p.objects > maxObjects || p.bytes > maxBytes || p.unknown:
		return fmt.Errorf("more than %s objects or %s need --large", count(maxObjects), byteSize(maxBytes))
	}
	return nil
}

// confirm asks whether to go on.
func confirm(ctx context.Context, in io.Reader, out io.Writer) error {
	fmt.Fprint(out, "Read them? [y/N] ")
	answer := make(chan string, 1)
	go func() { // ends with the process at the latest
		line, _ := bufio.NewReader(in).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(out)
		return context.Cause(ctx)
	case text := <-answer:
		if text == "y" || text == "yes" {
			return nil
		}
		return errors.New("nothing was read; y or --yes starts it")
	}
}
