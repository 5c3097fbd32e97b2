// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync"

	"github.com/kinformer/kinformer/internal/scope"
)

// Viewable is an informer or a set of informers that packages metrics and debug can show, such as a
// *SharedInformer, *Controller, *Factory or *Group.
type Viewable interface {
	// Views returns a view of each informer, in no particular order.
	Views() []View
}

// View is a read-only view of an informer whose objects may be of any type, for dashboards and
// monitoring. Its methods are safe for concurrent use, and block readers and writers of the store
// for O(1) at most.
type View struct {
	core *core
	setRef
}

type setRef = scope.SetRef

func (c *core) views() []View { return []View{{c, scope.NewSetRef(c.scopes)}} }

// ID returns a number that no other informer of the process has. It does not change, and informers
// made later have larger ones.
func (v View) ID() uint64 { return v.core.engine.ID() }

// UniqueName returns Status.Name or, if another informer of the process has that name, Name#2 and
// so on. The first call assigns the name, which does not change. Once the informer has stopped,
// another one may get the name.
func (v View) UniqueName() string { return v.core.engine.UniqueName(v.core.report.name) }

// Kind returns the kind of the objects, such as "Pod", or an empty string if it is not known.
func (v View) Kind() string { return v.core.kind }

// Status returns the informer's status.
func (v View) Status() Status { return v.core.status() }

// ScopeStatus returns the status of each scope, in the order in which they were added. It
// returns nil for an informer without Scopes.
func (v View) ScopeStatus() []ScopeStatus { return v.core.scopeStatus() }

// Indexes returns, by the name of each index of the store, the number of values under which it has
// objects.
func (v View) Indexes() map[string]int { return v.core.engine.Store().Snapshot().Indexes() }

// FindKeys returns the keys of the store that contain text, in order, at most limit of them, and
// the number of all such keys. An empty text finds all keys. FindKeys reads every key of the store.
func (v View) FindKeys(text string, limit int) (keys []string, found int) {
	return v.core.engine.Store().Snapshot().FindKeys(text, max(limit, 0))
}

// Get returns the stored object with the given key and reports whether there is one. The object
// must not be changed. For an object that could never be stored, it returns the error of
// Reader.KeyError.
func (v View) Get(key string) (obj Object, exists bool, err error) {
	value, exists, err := v.core.engine.Store().Find(key)
	if err != nil || !exists {
		return nil, exists, err
	}
	obj, ok := value.(Object)
	if !ok {
		return nil, false, fmt.Errorf("%s: %q is a %T, which is not an API object", v.core.report.name, key, value)
	}
	return obj, true, nil
}

// InformerScope is one scope of an informer. Its methods do for the scope what those of
// SharedInformer do for the whole informer. They are safe for concurrent use.
type InformerScope struct {
	core    *core
	scope   scope.Scope // canonical
	invalid error
}

var errNoScopes = errors.New("the informer has no Scopes")

// WaitForSync blocks until the scope has been listed. It may be called directly after Scopes.Add.
// It returns an error that wraps ErrNoScope if the scope is removed before, and the errors of
// SharedInformer.WaitForSync; see there why ctx needs a timeout.
func (s InformerScope) WaitForSync(ctx context.Context) error {
	if s.invalid != nil {
		return s.invalid
	}
	return s.core.wait(ctx, func(ctx context.Context) error { return s.core.engine.Scopes().WaitForScope(ctx, s.scope) })
}

// WaitForResourceVersion blocks until the scope has been listed and has reached a resourceVersion;
// see SharedInformer.WaitForResourceVersion, also for why ctx needs a deadline.
func (s InformerScope) WaitForResourceVersion(ctx context.Context, resourceVersion string) error {
	if s.invalid != nil {
		return s.invalid
	}
	return s.core.wait(ctx, func(ctx context.Context) error {
		return s.core.engine.Scopes().WaitForScopeVersion(ctx, s.scope, resourceVersion)
	})
}

// Status returns the scope's condition, or an error if the informer does not hold it.
func (s InformerScope) Status() (ScopeStatus, error) {
	if s.invalid != nil {
		return ScopeStatus{Scope: scopeOf(s.scope)}, s.invalid
	}
	if now, held := s.core.engine.Scopes().StatusOfScope(s.scope); held {
		return s.core.scopeStatusOf(now), nil
	}
	return ScopeStatus{Scope: scopeOf(s.scope)}, fmt.Errorf("%s: scope of %v: %w", s.core.report.name, s.scope, ErrNoScope)
}

// HealthCheck returns a function for a health endpoint; see SharedInformer.HealthCheck. The
// function returns an error that wraps ErrNoScope if the informer does not have the scope.
func (s InformerScope) HealthCheck(options HealthOptions) func(*http.Request) error {
	return func(*http.Request) error {
		status, err := s.Status()
		if err != nil {
			return err
		}
		status.Name = fmt.Sprintf("%s, scope of %v,", status.Name, status.Scope)
		if s.core.hasStopped() {
			status.Phase = PhaseStopped
		}
		return status.unhealthy(s.core.clock.Now(), options)
	}
}

func byID(a, b View) int { return int(a.ID()) - int(b.ID()) }

// Group is a set of informers and factories, of any types, that a program shows, waits for and runs
// together. It may also do only one of these. An informer that has stopped leaves the group. One
// that is never run stays, and so do the informers that a Factory has, also after the Factory has
// stopped. The zero Group is empty. Its methods are safe for concurrent use.
type Group struct {
	mu      sync.Mutex // guards the fields below
	members []Viewable
	ctx     context.Context // of the members' Run; nil before that of the group
	cancel  context.CancelCauseFunc
	stopped bool // no further member is run
	running sync.WaitGroup
	errs    []error // of the members
}

// Add adds informers or factories. While Run is active, it also runs them.
func (g *Group) Add(members ...Viewable) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members = slices.DeleteFunc(g.members, hasStopped)
	for _, member := range members {
		isSame := func(other Viewable) bool { return reflect.ValueOf(other).Comparable() && other == member }
		if slices.ContainsFunc(g.members, isSame) {
			continue
		}
		g.members = append(g.members, member)
		g.start(member)
	}
}

// start runs a member if the group runs. mu is held.
func (g *Group) start(member Viewable) {
	m, ok := member.(interface {
		Run(ctx context.Context) error
	})
	if !ok || g.ctx == nil || g.stopped {
		return
	}
	g.running.Go(func() {
		if err := m.Run(g.ctx); err != nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.errs = append(g.errs, err)
			g.cancel(err)
		}
	})
}

// Run calls Run of each member that has such a method, in a goroutine, also of those that are added
// before it returns. Once one of them returns an error, Run ends the context of the others. It
// returns when ctx has ended, or a member has failed, and all have returned, with their joined
// errors. The program must not run the members itself, which excludes a group that is the option
// Group of package clientgo.
//
// A group can run once: a second call returns ErrAlreadyRunning or, after the first has returned,
// ErrStopped. Members that are added then are not run.
func (g *Group) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := g.begin(ctx, cancel); err != nil {
		return fmt.Errorf("group: %w", err)
	}
	<-ctx.Done()
	g.mu.Lock()
	g.stopped = true
	g.mu.Unlock()
	g.running.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	return errors.Join(g.errs...)
}

func (g *Group) begin(ctx context.Context, cancel context.CancelCauseFunc) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.stopped:
		return ErrStopped
	case g.ctx != nil:
		return ErrAlreadyRunning
	}
	g.ctx, g.cancel = ctx, cancel
	g.members = slices.DeleteFunc(g.members, hasStopped)
	for _, member := range g.members {
		g.start(member)
	}
	return nil
}

// WaitForSync blocks until every informer that the group has at the time of the call has synced. It
// may be called before Run. It returns the joined errors of SharedInformer.WaitForSync; see there
// why ctx needs a timeout. If Run has ended, or a member has failed, the error wraps ErrStopped and
// the cause.
func (g *Group) WaitForSync(ctx context.Context) error {
	var errs []error
	for _, view := range g.Views() {
		errs = append(errs, view.core.wait(ctx, view.core.engine.WaitForStoreSync))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx != nil && g.ctx.Err() != nil { // its informers leave it
		errs = append(errs, fmt.Errorf("group: %w: %w", ErrStopped, context.Cause(g.ctx)))
	}
	return errors.Join(errs...)
}

// Views returns a view of every informer in the group. An informer that was added twice is one
// view.
func (g *Group) Views() (views []View) {
	g.mu.Lock()
	g.members = slices.DeleteFunc(g.members, hasStopped)
	members := slices.Clone(g.members)
	g.mu.Unlock()
	for _, member := range members {
		views = append(views, member.Views()...)
	}
	slices.SortFunc(views, byID)
	return slices.CompactFunc(views, func(a, b View) bool { return a.ID() == b.ID() })
}

// HealthCheck returns a function for a health endpoint that joins the errors of every informer in
// the group; see SharedInformer.HealthCheck. An empty group is healthy, such as that of a replica
// that is not the leader.
func (g *Group) HealthCheck(options HealthOptions) func(*http.Request) error {
	return func(*http.Request) error {
		var errs []error
		for _, view := range g.Views() {
			errs = append(errs, view.Status().unhealthy(view.core.clock.Now(), options))
		}
		return errors.Join(errs...)
	}
}

// hasStopped reports whether a member is an informer that has stopped. It is called under the
// group's lock, and asks neither factories nor other groups: they may have locks of their own,
// under which they add to this group.
func hasStopped(member Viewable) bool {
	informer, ok := member.(interface{ hasStopped() bool })
	return ok && informer.hasStopped()
}
