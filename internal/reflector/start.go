// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/feed"
)

// Start is the minimum resourceVersion of the first lists of one or more reflectors: the version of
// the server's most recent state when the first of them starts. One reflector requests it by a
// probe, and the others wait for the answer. Use NewStart. Start is safe for concurrent use.
type Start struct {
	probes   *Probes
	lock     chan struct{} // a mutex with a context, held during a probe; guards answer and err
	answer   startAnswer   // zero until a probe has succeeded
	err      error         // of the last probe that failed
	failures atomic.Uint64 // number of probes that failed
}

// NewStart returns a Start whose version is not known. It shares probes with the other Starts of
// the same Probes, which may be nil.
func NewStart(probes *Probes) *Start { return &Start{probes: probes, lock: make(chan struct{}, 1)} }

// startAnswer is what a probe has found out. The zero value is nothing: the probe was refused, or
// its answer had no version.
type startAnswer struct {
	version      string // of the most recent state; empty if it cannot be used
	ignoresLimit bool   // the server sends whole collections, so that further probes are in vain
}

// get returns the answer, and calls probe if it is not known. If the probe of another reflector
// fails while the caller waits, get returns that error.
func (s *Start) get(ctx context.Context, clock clock.Clock, probe probeFunc) (startAnswer, error) {
	failures := s.failures.Load()
	select {
	case s.lock <- struct{}{}:
		defer func() { <-s.lock }()
	case <-ctx.Done():
		return startAnswer{}, ctx.Err()
	}
	switch {
	case s.answer != startAnswer{}:
		return s.answer, nil
	case s.failures.Load() != failures:
		return startAnswer{}, s.err
	}
	answer, err := s.probes.do(ctx, clock, probe)
	if err != nil && ctx.Err() == nil {
		s.err = err
		s.failures.Add(1)
	}
	s.answer = answer
	return answer, err
}

// startState is how a reflector starts.
type startState struct {
	version    string // of Config.Start, once it is known
	mostRecent bool   // Config.Start has no version: the first list is of the most recent state
	withWatch  bool   // the next request is a watch: the first one if Config.From is set
}

// firstList is a list that is complete and not committed yet.
type firstList struct {
	feed.Replacement

	version   string
	requested time.Time
}

// findStart sets the version of the start before the first list, if Config.Start is set. If the
// probe is refused or shows no usable version, the first list is of the most recent state. If the
// server has answered the probe with the whole collection, findStart returns that as the first
// list. It returns an error if the server could not answer at the moment.
//
//	the probe before the first list            next request
//	─────────────────────────────────────────  ───────────────────────────────────────────
//	had a version                              list not older than that version
//	had no version that can be compared        list of the most recent state
//	had more objects and no continue token:    none, it is the first list (streaming, and no
//	the limit was ignored                      selector); otherwise as above
//	failed with 429, 5xx, a connection error   probe, after the backoff
//	or without an answer for 30 s
//	failed with anything else, such as 403     list of the most recent state
func (r *Reflector) findStart(ctx context.Context) (first *firstList, err error) {
	if r.config.Start == nil || r.start.version != "" || r.start.mostRecent || r.version() != "" || !r.lists.committedAt.IsZero() ||
		r.config.Source.Traits().Fake {
		return nil, nil
	}
	r.status.listing()
	answer, err := r.config.Start.get(ctx, r.clock, func(ctx context.Context) (answer startAnswer, err error) {
		answer, first, err = r.probeStart(ctx)
		return answer, err
	})
	if err != nil {
		feed.RaisePanic(ctx, err)
		return nil, fmt.Errorf("request the current resourceVersion: %w", err)
	}
	r.start.version, r.start.mostRecent = answer.version, answer.version == ""
	return first, nil
}

// errLimitIgnored ends the answer to a probe of which more is not needed.
var errLimitIgnored = errors.New("the server ignores limit")

// probeStart requests one object, for the version of the most recent state. The version is empty if
// the server refuses the probe, or has no version that can be compared.
//
// An answer with more objects than requested and no continue token is the whole collection, of the
// most recent state. It is returned as the first list if the objects were split from the server's
// response: a function of the program may join answers, and drop their tokens. If the probe lacks a
// selector of the collection, the rest is not read.
func (r *Reflector) probeStart(ctx context.Context) (answer startAnswer, first *firstList, err error) {
	if err := r.awaitBudget(ctx); err != nil {
		return answer, nil, err
	}
	requested := r.clock.Now()
	watched, stop := r.watchIdle(ctx, polling{timeout: func() time.Duration { return probeTimeout }})
	defer stop()
	probe, lacksSelector := feed.WithProbe(watched)
	received := probedItems{reflector: r}
	page, err := r.page(probe, metav1.ListOptions{Limit: 1}, func(item feed.Item) error {
		r.active()
		if received.n++; received.n > 1 && !item.IsDecoded() && lacksSelector() {
			return errLimitIgnored
		}
		received.add(item)
		return nil
	})
	if err != nil {
		err = orCause(watched, err)
	}
	stop()
	hasAll := received.n > 1 && page.Continue == ""
	isWhole := err == nil && hasAll && received.pipeline != nil
	if failed := received.finish(!isWhole); isWhole {
		err = failed
	}
	answer.ignoresLimit = hasAll && (err == nil || errors.Is(err, errLimitIgnored))
	switch {
	case ctx.Err() != nil:
		return startAnswer{}, nil, ctx.Err()
	case feed.IsPanic(err), isBusy(err), isServerError(err), isUnreachable(err):
		return startAnswer{}, nil, err
	case err != nil: // a list of the most recent state follows
		return answer, nil, nil
	case isWhole:
		r.listAnswered(requested)
		first = &firstList{received.replacement, page.ResourceVersion, requested}
	}
	if isValid(page.ResourceVersion) {
		answer.version = page.ResourceVersion
	}
	return answer, first, nil
}

// probedItems are the items of the answer to a probe. With the second one, they become a list.
type probedItems struct {
	reflector   *Reflector
	n           int
	one         feed.Item // the first, if its bytes were split from the response
	replacement feed.Replacement
	pipeline    *decodePipeline // nil before the second item, and for decoded items
}

func (p *probedItems) add(item feed.Item) {
	switch {
	case item.IsDecoded() || p.n > 1 && p.one.Raw == nil:
		return
	case p.n == 1:
		p.one = item
		p.one.Raw = bytes.Clone(item.Raw)
		return
	case p.pipeline == nil:
		p.replacement = p.reflector.begin()
		p.pipeline = newDecodePipeline(p.replacement, p.reflector.proof.listed, p.reflector.config.InFlight)
		p.reflector.received(p.one, p.reflector.isUnversioned(), p.pipeline.add)
	}
	p.reflector.received(item, p.reflector.isUnversioned(), p.pipeline.add)
}

// finish is decodePipeline.finish.
func (p *probedItems) finish(discard bool) error {
	if p.pipeline == nil {
		return nil
	}
	return p.pipeline.finish(discard)
}
