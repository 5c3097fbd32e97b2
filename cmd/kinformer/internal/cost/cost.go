// Package cost measures what caches of a cluster's resources cost.
package cost

import (
	"context"
	"fmt"
	"time"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/collection"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/machine"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/reader"
)

// session is one run of the command.
type session struct {
	options  *options
	client   *cluster.Client
	progress *progress
	memory   int64 // the bound
}

// Run runs the command.
func Run(ctx context.Context, args []string, streams command.Streams) error {
	if len(args) == 0 {
		return &command.UsageError{Help: Help}
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	s := &session{options: o, progress: newProgress(streams.Err), memory: machine.Memory() / 2}
	config, _, err := o.cluster.Load()
	if err != nil {
		return err
	}
	s.client, err = cluster.NewClient(ctx, config, cluster.Options{QPS: o.qps, Timeout: config.Timeout, OnWait: s.onWait})
	if err != nil {
		return err
	}
	defer s.client.Close()
	return s.run(ctx, streams)
}

func (s *session) onWait(wait time.Duration, status int) {
	s.progress.print("wait", "the server asks to wait %v (%d)", wait, status)
}

// run makes the plan, asks, and measures.
func (s *session) run(ctx context.Context, streams command.Streams) error {
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
	p.print(streams.Err, s.client, s.options)
	if err := p.check(s.options, s.memory); err != nil {
		return err
	}
	if !s.options.yes {
		if err := confirm(ctx, streams.In, streams.Err); err != nil {
			return err
		}
	}
	return s.measureAll(ctx, p, streams)
}

func (s *session) choose(catalog *cluster.Catalog) (*selection, error) {
	if s.options.all {
		return selectAll(s.client, catalog, s.options)
	}
	return selectNamed(catalog, s.options)
}

// memoryFor returns how much memory a resource takes.
func (s *session) memoryFor(wireBytes int64) int64 { return 10 * wireBytes }

func (s *session) measureAll(_ context.Context, p *plan, streams command.Streams) error {
	for _, e := range p.estimates {
		c, err := s.read(e)
		if err != nil {
			return err
		}
		fmt.Fprintln(streams.Out, e.Name(), len(c.Items), c.WireBytes)
	}
	return nil
}

// read reads a resource.
func (s *session) read(e reader.Estimate) (*collection.Collection, error) {
	began := time.Now()
	r := reader.Reader{Client: s.client, Limits: s.limits(), OnPage: func(p reader.Received) {
		seconds := max(time.Since(began).Seconds(), 1e-9)
		s.progress.update(e.Name(), "read %s of %s objects, %s; %s objects/s, %s/s", count(p.Objects), count(e.Objects),
			byteSize(p.Bytes), count(int64(float64(p.Objects)/seconds)), byteSize(int64(float64(p.Bytes)/seconds)))
	}}
	return r.Read(e)
}

func (s *session) limits() reader.Limits {
	l := reader.Limits{Memory: s.memory, MemoryFor: s.memoryFor}
	if !s.options.large {
		l.Objects, l.Bytes = maxObjects, maxBytes
	}
	return l
}
