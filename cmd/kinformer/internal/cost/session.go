// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/collection"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/reader"
	"github.com/kinformer/kinformer/internal/units"
)

// session is one run of the command.
type session struct {
	options  *options
	streams  command.Streams
	client   *cluster.Client
	progress *progress
	limits   reader.Limits
	measure  measurer
}

// measurer measures the caches of a collection. It calls began before each one.
type measurer func(ctx context.Context, c *collection.Collection, began func(cache string)) ([]cost, error)

// run makes the plan, asks, and measures.
func (s *session) run(ctx context.Context) error {
	s.progress.begin("discovery", "resources of %s", s.client.Host())
	catalog, err := s.client.Discover()
	if err != nil {
		return err
	}
	chosen, err := s.choose(catalog)
	if err != nil {
		return err
	}
	p, err := s.makePlan(chosen)
	if err != nil {
		return err
	}
	p.print(s.streams.Err, s.client.Host(), s.options.qps, s.limits.Memory)
	if err := p.check(s.limits); err != nil {
		return err
	}
	if !s.options.yes {
		if err := command.Confirm(ctx, s.streams, "Read them?", "nothing was read"); err != nil {
			return err
		}
	}
	return s.execute(ctx, p)
}

func (s *session) choose(catalog *cluster.Catalog) (*selection, error) {
	if s.options.all {
		return selectAll(s.client, catalog, s.options)
	}
	return selectNamed(catalog, s.options)
}

// execute reads and measures each resource, and prints the report. It goes on after a failure,
// unless the context has ended or more objects exist than may be read.
func (s *session) execute(ctx context.Context, p *plan) error {
	result := &report{Empty: p.empty, Skipped: p.skipped}
	r := &reader.Reader{Client: s.client, Limits: s.limits}
	for i, e := range p.estimates {
		m, err := s.one(ctx, r, e)
		switch {
		case ctx.Err() != nil:
			s.progress.clear()
			return context.Cause(ctx)
		case err == nil:
			result.Resources = append(result.Resources, m)
			continue
		}
		s.progress.print("error", "%v", err)
		result.Failed = append(result.Failed, without{e.Name(), err.Error()})
		if errors.Is(err, reader.ErrTooMany) {
			for _, unread := range p.estimates[i+1:] {
				result.Failed = append(result.Failed, without{unread.Name(), "not read after the limit"})
			}
			break
		}
	}
	s.progress.clear()
	return s.finish(result, len(p.estimates))
}

// finish prints the report. If all resources were selected, the largest comes first.
func (s *session) finish(result *report, planned int) error {
	if s.options.all {
		slices.SortStableFunc(result.Resources, func(a, b measured) int { return cmp.Compare(b.WireBytes, a.WireBytes) })
	}
	write := result.writeTable
	if s.options.output == "json" {
		write = result.writeJSON
	}
	if err := write(s.streams.Out); err != nil {
		return err
	}
	if failed := len(result.Failed); failed > 0 {
		return fmt.Errorf("%d of %s not measured", failed, units.Plural(planned, "resource"))
	}
	return nil
}

// one reads and measures one resource. Its objects are garbage afterwards.
func (s *session) one(ctx context.Context, r *reader.Reader, e reader.Estimate) (measured, error) {
	began := time.Now()
	r.OnPage = func(got reader.Received) { s.showPage(e, got, time.Since(began)) }
	c, err := r.Read(e)
	if err != nil {
		return measured{}, err
	}
	m := measured{
		Resource: e.Name(), Version: e.Version, Kind: e.Kind, Objects: len(c.Items), WireBytes: c.WireBytes, Format: "JSON",
	}
	if c.Protobuf() {
		m.Format = "protobuf"
	}
	s.showRead(e, c, time.Since(began))
	debug.FreeOSMemory() // so that little more than the objects is left while the child processes run
	m.Caches, err = s.measure(ctx, c, func(cache string) { s.progress.begin(e.Name(), "measure %s", cache) })
	if err == nil {
		m.choose()
	}
	return m, err
}

// showPage shows what was received, and the rates.
func (s *session) showPage(e reader.Estimate, got reader.Received, elapsed time.Duration) {
	s.progress.update(e.Name(), "page %d of %d, %s of %s, %s, %s", got.Pages, e.Requests, units.Count(got.Objects), units.Plural(e.Objects, "object"),
		units.Bytes(got.Bytes), rate(got.Bytes, elapsed))
}

// showRead shows that a resource was read. The line of a small one of many does not stay.
func (s *session) showRead(e reader.Estimate, c *collection.Collection, elapsed time.Duration) {
	show := s.progress.print
	if s.options.all && c.WireBytes < 1_000_000 {
		show = s.progress.begin
	}
	show(e.Name(), "%s, %s in %v, %s", units.Plural(len(c.Items), "object"),
		units.Bytes(c.WireBytes), elapsed.Round(time.Millisecond), rate(c.WireBytes, elapsed))
}

// rate returns the bytes per second.
func rate(bytes int64, elapsed time.Duration) string {
	return units.Bytes(int64(float64(bytes)/max(elapsed.Seconds(), 1e-3))) + "/s"
}

func (s *session) onWait(wait time.Duration, status int) {
	s.progress.print("wait", "the server asks to wait %v (HTTP status %d)", wait, status)
}
