// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package cost is the command that measures what caches of a cluster's resources cost.
//
// options.go parses the command line, selection.go chooses the resources, plan.go estimates them,
// session.go reads and measures them one after the other, report.go prints the result.
package cost

import (
	"context"
	"fmt"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/machine"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/reader"
)

// Bounds without --large.
const (
	maxObjects = 50_000
	maxBytes   = 1_000_000_000
)

// Run runs the command.
func Run(ctx context.Context, args []string, streams command.Streams) error {
	if len(args) == 0 {
		return &command.UsageError{Help: Help}
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	s, err := newSession(ctx, o, streams)
	if err != nil {
		return err
	}
	defer s.client.Close()
	return s.run(ctx)
}

// newSession connects to the cluster.
func newSession(ctx context.Context, o *options, streams command.Streams) (*session, error) {
	config, err := o.cluster.Load()
	if err != nil {
		return nil, err
	}
	if o.secrets {
		if err := machine.DisableCoreDumps(); err != nil {
			return nil, fmt.Errorf("disable core dumps: %w", err)
		}
	}
	config.UserAgent = "kinformer cost"
	s := &session{options: o, streams: streams, progress: newProgress(streams.Err)}
	s.measure = s.measureAll
	s.limits = reader.Limits{Objects: maxObjects, Bytes: maxBytes, Memory: machine.Memory() / 2, MemoryFor: memoryFor}
	if o.large {
		s.limits.Objects, s.limits.Bytes = 0, 0
	}
	s.client, err = cluster.NewClient(ctx, config, cluster.Options{QPS: o.qps, Timeout: config.Timeout, OnWait: s.onWait})
	return s, err
}
