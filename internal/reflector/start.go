// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/kinformer/kinformer/internal/feed"
)

// Start is the minimum resourceVersion of the first lists of one or more reflectors: the version of
// the server's most recent state when the first of them starts. One reflector requests it by a
// probe, and the others wait for the answer. Use NewStart. Start is safe for concurrent use.
type Start struct {
	lock     chan struct{} // a mutex with a context, held during a probe; guards version and err
	version  string        // empty until a probe has returned one
	err      error         // of the last probe that failed
	failures atomic.Uint64 // number of probes that failed
}

// NewStart returns a Start whose version is not known.
func NewStart() *Start { return &Start{lock: make(chan struct{}, 1)} }

// get returns the version, and calls probe if it is not known. If the probe of another reflector
// fails while the caller waits, get returns that error.
func (s *Start) get(ctx context.Context, probe func(context.Context) (string, error)) (string, error) {
	failures := s.failures.Load()
	select {
	case s.lock <- struct{}{}:
		defer func() { <-s.lock }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	switch {
	case s.version != "":
		return s.version, nil
	case s.failures.Load() != failures:
		return "", s.err
	}
	version, err := probe(ctx)
	if err != nil && ctx.Err() == nil {
		s.err = err
		s.failures.Add(1)
	}
	s.version = version
	return version, err
}

// startState is how a reflector starts.
type startState struct {
	version    string // of Config.Start, once it is known
	mostRecent bool   // Config.Start has no version: the first list is of the most recent state
	withWatch  bool   // the next request is a watch: the first one if Config.From is set
}

// findStart sets the version of the start before the first list, if Config.Start is set. If the
// probe is refused or shows no usable version, the first list is of the most recent state. It
// returns an error if the server could not answer at the moment.
func (r *Reflector) findStart(ctx context.Context) error {
	if r.config.Start == nil || r.start.version != "" || r.start.mostRecent || r.version() != "" || !r.lists.committedAt.IsZero() ||
		r.config.Source.Traits().Fake {
		return nil
	}
	r.status.listing()
	version, err := r.config.Start.get(ctx, r.probeStart)
	if err != nil {
		feed.RaisePanic(ctx, err)
		return fmt.Errorf("request the current resourceVersion: %w", err)
	}
	r.start.version, r.start.mostRecent = version, version == ""
	return nil
}

// probeStart returns the version of the most recent state. It is empty if the server refuses the
// probe, ignores its limit, or has no version that can be compared.
func (r *Reflector) probeStart(ctx context.Context) (version string, err error) {
	version, items, err := r.mostRecent(ctx)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case feed.IsPanic(err), isBusy(err), isServerError(err), isUnreachable(err):
		return "", err
	case err != nil, items > 1, !isValid(version):
		return "", nil //nolint:nilerr // a list of the most recent state follows
	}
	return version, nil
}
