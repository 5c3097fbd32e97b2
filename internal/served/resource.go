// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// ErrNotServed reports a resource that the server does not serve.
var ErrNotServed = errors.New("the server does not serve the resource")

// Published is a Resource as programs have it: cache.Served is an alias of it. It has no methods,
// so that a program can only pass it on.
type Published struct{ resource *Resource }

// Publish returns a resource for programs.
func Publish(resource *Resource) *Published { return &Published{resource} }

// ResourceOf returns the resource, nil if published is.
func ResourceOf(published *Published) *Resource {
	if published == nil {
		return nil
	}
	return published.resource
}

// Outcome is what a verdict says.
type Outcome int

// The outcomes.
const (
	// Pending: there is no verdict yet. Informers wait for it.
	Pending Outcome = iota
	// Unknown: informers request the resource, and report its 404 like any other error.
	Unknown
	// Served: informers request the resource.
	Served
	// NotServed: informers do not request the resource. Its objects may exist.
	NotServed
	// Gone: informers do not request the resource. Its objects were deleted with its definition.
	Gone
	// Unselected: informers do not request the resource, whether or not it is served. The verdict
	// needs no confirmation, and is final.
	Unselected
	// Unlisted: informers do not request the resource, unless they have objects. Its definition
	// exists, and the server that was asked may not know it yet.
	Unlisted
)

// Verdict is what is known of a resource.
type Verdict struct {
	Outcome Outcome
	Err     error // why the resource is absent, or may be; it wraps ErrNotServed

	changes uint64 // of the resource, up to this one
}

// IsAbsent reports whether informers must not request the resource.
func (v Verdict) IsAbsent() bool { return v.Outcome != Unknown && v.Outcome != Served }

// IsSame reports whether two verdicts are one, with no other between them.
func (v Verdict) IsSame(other Verdict) bool { return v.changes == other.changes }

// Resource keeps the last verdict on a resource. Its methods are safe for concurrent use.
type Resource struct {
	// Budget, if set, is that of the only reflector of the resource, which continues that of an
	// earlier one. It is set before the reflector is made.
	Budget *Budget

	mu        sync.Mutex // guards the fields below
	verdict   Verdict
	waiting   map[*waiter]struct{}
	confirmed uint64 // Verdict.changes of the last one that was confirmed
	disproved uint64 // the same, of the last one that was disproved

	confirming chan struct{} // a mutex with a context, held during a request that may confirm the verdict
}

type waiter struct{ cancel context.CancelFunc }

// New returns a resource on which there is no verdict yet, for which err is the reason.
func New(err error) *Resource {
	return &Resource{
		verdict: Verdict{Err: err}, waiting: make(map[*waiter]struct{}), confirming: make(chan struct{}, 1),
	}
}

// Verdict returns the last verdict.
func (r *Resource) Verdict() Verdict {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.verdict
}

// Set records a verdict, unless the last one is Unselected, which is final. err is why the resource
// is absent, or may be.
func (r *Resource) Set(outcome Outcome, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.verdict
	if before.Outcome == Unselected {
		return
	}
	next := Verdict{outcome, err, before.changes}
	if outcome == before.Outcome {
		r.verdict = next
		return
	}
	if before.IsAbsent() || next.IsAbsent() {
		next.changes++
		for waiter := range r.waiting {
			waiter.cancel()
		}
		clear(r.waiting)
	}
	r.verdict = next
}

// End makes a verdict that the resource is absent final. It reports false if there is another one
// meanwhile.
func (r *Resource) End(verdict Verdict) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	isSame := r.verdict.IsSame(verdict)
	if isSame {
		r.verdict.Outcome = Unselected
	}
	return isSame
}

// WithContext returns a context that ends with ctx, or once the verdict is no longer this one: a
// resource that was absent is served, one that was served is absent, or was absent meanwhile.
func (r *Resource) WithContext(ctx context.Context, verdict Verdict) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.verdict.changes != verdict.changes {
		cancel()
		return ctx, cancel
	}
	w := &waiter{cancel}
	r.waiting[w] = struct{}{}
	return ctx, func() {
		cancel()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.waiting, w)
	}
}

// Confirm reports whether a verdict is confirmed. If it is not, Confirm calls probe, which requests
// the resource and reports whether the server does not serve it. Of the callers that ask at a time,
// one calls probe, and the others wait for it. The errors are those of probe and of ctx.
func (r *Resource) Confirm(ctx context.Context, verdict Verdict, probe func(context.Context) (absent bool, err error)) (bool, error) {
	select {
	case r.confirming <- struct{}{}:
		defer func() { <-r.confirming }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if r.isConfirmed(verdict) {
		return true, nil
	}
	absent, err := probe(ctx)
	if absent && err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.confirmed = verdict.changes
	}
	return absent, err
}

// Disprove records that requests have proved the opposite of a verdict that the resource is absent.
func (r *Resource) Disprove(verdict Verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.disproved = verdict.changes
}

// IsDisproved reports whether Disprove was called with a verdict.
func (r *Resource) IsDisproved(verdict Verdict) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.disproved == verdict.changes && verdict.changes > 0
}

// Disproof remembers the last verdict that a resource is absent under which the reflectors of one
// store have requested it all the same: the objects of that store are not those of which the
// verdict says that they are gone. It is safe for concurrent use.
type Disproof struct{ changes atomic.Uint64 }

// Add notes a verdict.
func (d *Disproof) Add(verdict Verdict) { d.changes.Store(verdict.changes) }

// Has reports whether Add was called last with the verdict.
func (d *Disproof) Has(verdict Verdict) bool {
	return verdict.changes > 0 && d.changes.Load() == verdict.changes
}

func (r *Resource) isConfirmed(verdict Verdict) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return verdict.Outcome == Unselected || r.confirmed == verdict.changes && verdict.changes > 0
}
