// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/served"
)

const (
	// maxFirstLists is the number of informers that may fetch their first list at a time.
	maxFirstLists = 5
	// forbiddenInterval is how often a resource is requested whose list is forbidden.
	forbiddenInterval = 5 * time.Minute
)

// Object is the type of the objects of Informers.
type Object interface {
	*unstructured.Unstructured | *metav1.PartialObjectMetadata
	cache.Object
}

// AllOptions are the options of All. Select, Client and Handler are required.
type AllOptions[T Object] struct {
	// Select reports whether to follow a resource. It is called after each change of what the
	// server serves, or of a CustomResourceDefinition or APIService, with the preferred version of
	// each resource that can be listed and watched. An informer keeps its version as long as the
	// server serves it: for a resource that is followed, Select is called with that version, which
	// may no longer be the preferred one. A Select that requires Resource.Preferred makes Informers
	// change the version.
	//
	// Select must not block. If it depends on anything else than the resource, such as the
	// program's configuration, call Informers.Reselect after a change.
	Select func(resource Resource) bool
	// Named are those of Secrets and Events (of the core group and of events.k8s.io) for which
	// Select is called. By default it is called for none of them.
	Named []schema.GroupResource
	// Client returns the ListWatch of a resource in all namespaces:
	//
	//	func(gvr schema.GroupVersionResource) *cache.ListWatch {
	//		return cache.ListWatchOf(metadataClient.Resource(gvr))
	//	}
	Client func(resource schema.GroupVersionResource) *cache.ListWatch
	// Handler receives the events of all resources. It must be safe for concurrent use: the events
	// of one resource are delivered one at a time, those of different resources concurrently. A
	// call that blocks does not delay the events of other resources. The argument resource is as it
	// was when Select last reported true for it.
	Handler func(resource Resource, event cache.Event[T])
	// HandlerOptions are the options of Handler.
	HandlerOptions cache.HandlerOptions
	// Informer are the options of all informers. Packed is always set. Name, Scopes and Served must
	// not be set: the name of an informer is that of its resource, such as "widgets.example.com".
	Informer cache.InformerOptions[T]
}

var (
	errIncomplete  = errors.New("follow all: the follower, Select, Client or Handler is nil")
	errFixed       = errors.New("follow all: Name, Scopes and Served of Informer must not be set")
	errListsOthers = fmt.Errorf("waits for the first lists of %d other resources", maxFirstLists)
	errLimited     = errors.New("waits, as its requests are limited")
	errNoInformer  = errors.New("it is not served or not selected, or the follower does not know it yet")
	errNotListed   = errors.New("it has not been listed yet")
	errUnselected  = fmt.Errorf("%w: Select reports false", served.ErrNotServed)
)

// onlyNamed are the resources that are followed only if AllOptions.Named has them.
var onlyNamed = []schema.GroupResource{{Resource: "secrets"}, {Resource: "events"}, {Group: "events.k8s.io", Resource: "events"}} //nolint:gochecknoglobals // a constant

// selects reports whether a resource is to be followed.
func (o AllOptions[T]) selects(r Resource) bool {
	isNamed := !slices.Contains(onlyNamed, r.GroupResource()) || slices.Contains(o.Named, r.GroupResource())
	return isNamed && slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") && o.Select(r)
}

// Informers run an informer of each resource that a server serves and a function selects; see All.
// The methods are safe for concurrent use, and may be called before, during and after Run.
type Informers[T Object] struct {
	follower   *Follower
	options    AllOptions[T]
	firstLists chan struct{} // has a value for each informer that fetches its first list
	wake       chan struct{} // of capacity 1; an informer has ended, or Select may report something else

	started atomic.Bool

	mu       sync.Mutex // guards the fields below
	followed map[schema.GroupResource]*followed[T]
	budgets  map[schema.GroupResource]*served.Budget // of the followed resources, and of those that were a minute ago
	failed   error                                   // of informers that cannot run
}

// followed is a resource that Informers follow.
type followed[T Object] struct {
	schema.GroupVersionResource
	latest *atomic.Pointer[Resource] // as it was when Select last reported true
	served *served.Resource          // its verdict is the follower's until the resource is unselected

	informer *cache.SharedInformer[T] // nil if there is none; guarded by Informers.mu, as err is
	err      error                    // why there is none
}

// All returns Informers, which run an informer of each resource that the options select. An
// informer starts when the server begins to serve its resource, and ends when the server no longer
// serves it. Nothing happens before Run.
//
// When a CustomResourceDefinition is deleted, the handler receives the deletions of its objects;
// see cache.InformerOptions.Served. Then the informer ends, and nothing is left of it. If the
// definition is created again, a new informer starts. If the definition no longer serves the
// version that is followed, or Select no longer reports true, the objects may exist, and their
// deletions have LeftScope. If another version of the resource is served and selected, its informer
// starts after these deletions, and the handler receives additions of the same objects.
//
// At most five informers fetch their first list at a time. One whose first list has failed retries,
// and no longer counts. The informers of one resource share the limits of requests, so that a
// resource which comes and goes every few seconds is listed four times a minute. A resource whose
// first list is forbidden has no informer, and is requested again every five minutes. A resource
// that becomes forbidden later keeps its last good state.
func All[T Object](follower *Follower, options AllOptions[T]) (*Informers[T], error) {
	switch unset := options.Informer; {
	case follower == nil || options.Select == nil || options.Client == nil || options.Handler == nil:
		return nil, errIncomplete
	case unset.Name != "" || unset.Scopes != nil || unset.Served != nil:
		return nil, errFixed
	}
	options.Informer.Packed = true
	return &Informers[T]{
		follower: follower, options: options, firstLists: make(chan struct{}, maxFirstLists),
		wake: make(chan struct{}, 1), followed: make(map[schema.GroupResource]*followed[T]),
		budgets: make(map[schema.GroupResource]*served.Budget),
	}, nil
}

// Run starts and ends informers until ctx ends, and returns nil once all informers have returned.
// The handler receives no deletions at the end. If Run of an informer returns an error, because its
// ListWatch is invalid or a handler's call has not returned, Run ends all informers and returns the
// error. Run must be called once. The follower must run at the same time:
//
//	err := cache.RunAll(ctx, follower.Run, all.Run)
func (a *Informers[T]) Run(ctx context.Context) error {
	if a.follower.informers == nil {
		return errNoClient
	}
	if a.started.Swap(true) {
		return errRunTwice
	}
	defer a.follower.disown(a.follower.own(allResources)) // a server without aggregated discovery is asked for all groups
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	for ctx.Err() == nil {
		resources, changed := a.follower.current()
		for _, f := range a.update(resources) {
			running.Go(func() { a.end(f, a.follow(ctx, f), cancel) })
		}
		select {
		case <-changed:
		case <-a.wake:
		case <-ctx.Done():
		}
	}
	running.Wait()
	return a.failed
}

// Reselect makes Run call Select again for each resource. It does not block.
func (a *Informers[T]) Reselect() { signal(a.wake) }

// ResourceStatus describes one resource that Informers follow.
type ResourceStatus struct {
	Resource Resource // as it was when Select last reported true
	// Informer is the status of the informer. It is the zero value if there is none.
	Informer cache.Status
	// Err is why there is no informer: the list of the resource is forbidden, or the informer waits
	// until others have fetched their first list, or as earlier ones of the resource have made many
	// requests. It is nil if there is an informer.
	Err error
}

// Status returns the status of each selected resource, in the order of groups and resources. A
// resource that is no longer served or selected has a status until its deletions have been
// delivered.
func (a *Informers[T]) Status() []ResourceStatus {
	var statuses []ResourceStatus
	for _, f := range a.all() {
		status := ResourceStatus{Resource: *f.latest.Load(), Err: f.err}
		if f.informer != nil {
			status.Informer = f.informer.Status()
		}
		statuses = append(statuses, status)
	}
	return statuses
}

// Reader returns a reader of the objects of a resource, with the indexes of AllOptions.Informer. It
// is that of the informer that runs now: call Reader for each read, or for each few that belong
// together. cache.NewLister makes a Lister of it. If the resource has no informer, or that has not
// fetched its first list, Reader returns an error that wraps cache.ErrNotServed and says why: an
// object that cannot be read may exist. If the resource goes while a reader is in use, its reads
// are those of an informer in cache.PhaseNotServed.
func (a *Informers[T]) Reader(resource schema.GroupResource) (cache.Reader[T], error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	why := errNoInformer
	if f := a.followed[resource]; f != nil {
		switch {
		case f.informer == nil:
			why = f.err
		case f.informer.HasSynced():
			return f.informer.Store(), nil
		default:
			why = cmp.Or(f.served.Verdict().Err, f.informer.Status().Err, errNotListed)
		}
	}
	return cache.Reader[T]{}, fmt.Errorf("%s: %w: %w", resource, served.ErrNotServed, why)
}

// Views returns a view of each informer that runs.
func (a *Informers[T]) Views() (views []cache.View) {
	for _, f := range a.all() {
		if f.informer != nil {
			views = append(views, f.informer.Views()...)
		}
	}
	return views
}

// all returns the followed resources, as they are, in order.
func (a *Informers[T]) all() (all []followed[T]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range a.followed {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b followed[T]) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	})
	return all
}

// set records the informer of a resource, or why there is none.
func (a *Informers[T]) set(f *followed[T], informer *cache.SharedInformer[T], err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f.informer, f.err = informer, err
}

// update ends the informers of resources that are not selected any more, and returns the resources
// that are to be followed.
func (a *Informers[T]) update(resources []Resource) (added []*followed[T]) {
	known := make(map[schema.GroupResource]followed[T])
	for _, f := range a.all() {
		known[f.GroupResource()] = f
	}
	for _, resource := range resources {
		f, isFollowed := known[resource.GroupResource()]
		if isFollowed && f.GroupVersionResource != resource.GroupVersionResource || !isFollowed && !resource.Preferred {
			continue
		}
		switch isSelected := a.options.selects(resource); {
		case isFollowed && isSelected:
			f.latest.Store(&resource)
		case isFollowed:
			f.served.Set(served.Unselected, errUnselected)
		case isSelected:
			if f := a.newFollowed(resource); f != nil {
				added = append(added, f)
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.budgets, func(name schema.GroupResource, budget *served.Budget) bool {
		return a.followed[name] == nil && budget.IsOver(a.follower.options.Clock.Now())
	})
	for _, f := range added {
		name := f.GroupResource()
		if a.budgets[name] == nil {
			a.budgets[name] = &served.Budget{}
		}
		a.followed[name], f.served.Budget = f, a.budgets[name]
	}
	return added
}

// newFollowed returns a resource that is to be followed, or nil if its definition was just deleted,
// or is newer than discovery's answer.
func (a *Informers[T]) newFollowed(resource Resource) *followed[T] {
	f := &followed[T]{
		GroupVersionResource: resource.GroupVersionResource, latest: &atomic.Pointer[Resource]{},
		served: a.follower.own(resource.GroupVersionResource), err: errListsOthers,
	}
	f.latest.Store(&resource)
	if f.served.Verdict().IsAbsent() {
		a.follower.disown(f.served)
		return nil
	}
	return f
}

// end forgets a resource. An error of its informer ends all.
func (a *Informers[T]) end(f *followed[T], err error, endAll func()) {
	a.follower.disown(f.served)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.followed, f.GroupResource())
	if err != nil {
		a.failed = errors.Join(a.failed, err)
		endAll()
	}
	a.Reselect() // another version may be served
}

// follow runs an informer of a resource until the resource is not served or not selected any more,
// or ctx ends.
func (a *Informers[T]) follow(ctx context.Context, f *followed[T]) error {
	current, cancel := f.served.WithContext(ctx, f.served.Verdict())
	defer cancel()
	for !f.served.Verdict().IsAbsent() {
		if wait := f.served.Budget.UntilStart(a.follower.options.Clock.Now()); wait > 0 {
			a.set(f, nil, errLimited)
			if !a.follower.sleep(current, wait, nil) { // before it takes one of the places in firstLists
				return nil
			}
		}
		a.set(f, nil, errListsOthers)
		select {
		case a.firstLists <- struct{}{}:
		case <-current.Done():
			return nil
		}
		forbidden, err := a.runInformer(ctx, f)
		if forbidden == nil || err != nil {
			return err
		}
		a.awaitPermission(current, f, forbidden)
	}
	return nil
}

// runInformer runs an informer until its resource is not served or not selected any more, the first
// list is forbidden, or ctx ends. The caller has added a value to firstLists, which is received
// unless there is an error, which ends all.
func (a *Informers[T]) runInformer(ctx context.Context, f *followed[T]) (forbidden, err error) {
	informer, err := a.newInformer(f)
	if err != nil {
		return nil, err
	}
	a.set(f, informer, nil)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- informer.Run(ctx)
		cancel()
	}()
	var first cache.Status
	awaitStatus(ctx, nil, informer, func(status cache.Status) bool {
		first = status
		return first.Synced || first.Err != nil || first.Phase == cache.PhaseNotServed
	})
	<-a.firstLists
	if !first.Synced && apierrors.IsForbidden(first.Err) {
		forbidden = first.Err
	} else {
		a.awaitEnd(ctx, f, informer)
	}
	cancel()
	return forbidden, <-ended
}

func (a *Informers[T]) newInformer(f *followed[T]) (*cache.SharedInformer[T], error) {
	options := a.options.Informer
	options.Name, options.Served = f.GroupResource().String(), served.Publish(f.served)
	example := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	example.GetObjectKind().SetGroupVersionKind(f.GroupVersion().WithKind(f.latest.Load().Kind))
	informer := cache.NewSharedInformer(a.options.Client(f.GroupVersionResource), example, options)
	_, err := informer.AddEventHandler(cache.EventHandlerFunc[T](func(event cache.Event[T]) {
		a.options.Handler(*f.latest.Load(), event)
	}), a.options.HandlerOptions)
	return informer, err
}

// awaitEnd blocks until the resource is not served or not selected any more, the informer makes no
// requests and has no objects, and its handler has returned from all deletions; or until ctx ends.
func (a *Informers[T]) awaitEnd(ctx context.Context, f *followed[T], informer *cache.SharedInformer[T]) {
	isEmpty := func(status cache.Status) bool { // a snapshot shows deletions only once they count as backlog
		return status.Phase == cache.PhaseNotServed && informer.Store().Snapshot().Len() == 0 && informer.Status().Handlers[0].Backlog == 0
	}
	for isOver := false; !isOver && ctx.Err() == nil; {
		verdict := f.served.Verdict()
		current, cancel := f.served.WithContext(ctx, verdict)
		if isOver = verdict.IsAbsent() && awaitStatus(current, nil, informer, isEmpty) && f.served.End(verdict); !isOver {
			<-current.Done()
		}
		cancel()
	}
}

// awaitPermission blocks until the list of a resource is not forbidden any more, or ctx ends.
func (a *Informers[T]) awaitPermission(ctx context.Context, f *followed[T], err error) {
	a.set(f, nil, err)
	for apierrors.IsForbidden(err) && a.follower.sleep(ctx, forbiddenInterval, nil) {
		request, cancel := context.WithTimeout(ctx, discoveryTimeout)
		_, err = a.options.Client(f.GroupVersionResource).List(request, metav1.ListOptions{Limit: 1})
		cancel()
	}
}

// awaitStatus blocks until done reports true for the status of an informer, and reports false if
// ctx ends or limit receives a value first.
func awaitStatus[T cache.Object](ctx context.Context, limit <-chan time.Time, informer *cache.SharedInformer[T], done func(cache.Status) bool) bool {
	for {
		changed := informer.StatusChanged()
		if done(informer.Status()) {
			return true
		}
		select {
		case <-changed:
		case <-limit:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
