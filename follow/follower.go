// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/errlog"
	"github.com/kinformer/kinformer/internal/served"
)

const (
	// discoveryBurst is the number of discovery requests that may follow each other at discoveryGap, and
	// discoveryPeriod the time after which there may be one more.
	discoveryBurst  = 12
	discoveryPeriod = 5 * time.Second
	// discoveryGap is the least time between two discovery requests. It is also the time after which the
	// first one after a change is repeated. That time doubles, up to lastRepeat: a server may be the
	// last one to learn of a change.
	discoveryGap = time.Second
	lastRepeat   = 64 * time.Second
	// discoveryInterval is the time between requests without a change. An aggregated API may change what
	// it serves, and its APIService does not.
	discoveryInterval = 10 * time.Minute

	// automanaged is a label of the APIServices that the server itself makes for its resources and for
	// those of CustomResourceDefinitions. They are no evidence: their own events come too early or late.
	automanaged = "kube-aggregator.kubernetes.io/automanaged"
)

// Options are the options of a Follower. The zero value is right for production.
type Options struct {
	// ErrorHandler receives the errors of requests, those of the informers of CustomResourceDefinitions and
	// APIServices included. The default logs them, as cache.ErrorHandler says.
	ErrorHandler cache.ErrorHandler
	// Logger replaces the logger of Run's context.
	Logger klog.Logger
	// Clock replaces the real clock, for tests. In a testing/synctest bubble the real clock is the
	// bubble's.
	Clock clock.Clock
}

// Follower knows what a server serves. Its methods are safe for concurrent use, and may be called
// before, during and after Run.
type Follower struct {
	options     Options
	definitions *cache.SharedInformer[*metav1.PartialObjectMetadata] // CustomResourceDefinitions
	apiServices *cache.SharedInformer[*metav1.PartialObjectMetadata]
	discoverer  *discoverer
	listed      []*cache.Registration // of the two informers
	invalid     error
	wake        chan struct{} // of capacity 1; something has changed
	logged      errlog.Requests
	started     atomic.Bool

	mu       sync.Mutex // guards the fields below
	evidence evidence
	tracked  map[schema.GroupVersionResource]*tracked
	owned    map[*served.Resource]schema.GroupVersionResource // those of Informers
	changed  chan struct{}                                    // closed and replaced when verdicts or the document have changed
	status   Status
	blind    error // why it cannot see what the server serves
	followed int   // number of those that follow all resources
}

// tracked is a resource that informers follow.
type tracked struct {
	resource *served.Resource
	public   *cache.Served
}

// Status is the condition of a Follower.
type Status struct {
	// Err is why the last discovery request failed, or why CustomResourceDefinitions or APIServices cannot
	// be watched; nil if all is well. Resources are then taken to be as they were. If the program has
	// no permission to watch them, informers do not follow: they request what is not served, and report
	// the 404.
	Err error
	// Requests is the number of requests for the groups of the server, and Unchanged the number of those
	// whose answer was that nothing has changed.
	Requests, Unchanged uint64
	// Definitions is the number of CustomResourceDefinitions.
	Definitions int
}

var (
	errPending    = errors.New("the follower does not know yet whether the server serves it")
	errNoMetadata = errors.New("the metadata client is nil")
	errRunTwice   = errors.New("follow: Run was called before")
)

// New returns a follower of what a server serves. It makes no request before Run. The config of the
// clients should be prepared by cache.EnableStreaming: annotations, which may hold whole schemas, are
// then cut from the responses. If a client is nil or client-go's fake one, Run returns an error.
func New(client metadata.Interface, discovery discovery.DiscoveryInterface, options Options) *Follower {
	f := &Follower{
		options: options, wake: make(chan struct{}, 1), evidence: newEvidence(),
		tracked: make(map[schema.GroupVersionResource]*tracked), owned: make(map[*served.Resource]schema.GroupVersionResource),
		changed: make(chan struct{}),
	}
	if client == nil {
		f.invalid = errNoMetadata
		return f
	}
	if f.discoverer, f.invalid = newDiscoverer(discovery); f.invalid != nil {
		return f
	}
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	services := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	f.definitions = f.newInformer(client, crds, "CustomResourceDefinition", f.evidence.definitions)
	f.apiServices = f.newInformer(client, services, "APIService", f.evidence.apiServices)
	return f
}

// newInformer returns an informer of definitions, of which it keeps little more than their names.
func (f *Follower) newInformer(client metadata.Interface, resource schema.GroupVersionResource, kind string, known map[string]*definition) *cache.SharedInformer[*metav1.PartialObjectMetadata] {
	example := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: resource.GroupVersion().String(), Kind: kind}}
	informer := cache.NewSharedInformer(cache.ListWatchOf(client.Resource(resource)), example, cache.InformerOptions[*metav1.PartialObjectMetadata]{
		OmitFields:   []string{"metadata.annotations", "metadata.managedFields"},
		NeverWritten: true,
		Packed:       true,
		ErrorHandler: f.options.ErrorHandler,
		Logger:       f.options.Logger,
		Clock:        f.options.Clock,
	})
	registration, err := informer.AddBatchHandler(f.handler(known), cache.HandlerOptions{Name: "follow"})
	f.invalid = errors.Join(f.invalid, err)
	f.listed = append(f.listed, registration)
	return informer
}

// Run follows what the server serves until ctx ends, and returns nil. It must be called once. It
// returns an error if the arguments of New are invalid.
func (f *Follower) Run(ctx context.Context) error {
	if f.invalid != nil {
		return fmt.Errorf("follow: %w", f.invalid)
	}
	if f.started.Swap(true) {
		return errRunTwice
	}
	if f.options.Logger.GetSink() != nil {
		ctx = klog.NewContext(ctx, f.options.Logger)
	}
	return cache.RunAll(ctx, f.definitions.Run, f.apiServices.Run, f.runDiscovery)
}

// Resource returns what is known of a resource, for cache.InformerOptions.Served. It returns the same value
// for the same resource.
func (f *Follower) Resource(resource schema.GroupVersionResource) *cache.Served {
	return f.track(resource).public
}

func (f *Follower) track(name schema.GroupVersionResource) *tracked {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.tracked[name]
	if t == nil {
		resource := served.New(fmt.Errorf("%s: %w: %w", text(name), served.ErrNotServed, errPending))
		t = &tracked{resource: resource, public: served.Publish(resource).(*cache.Served)}
		f.tracked[name] = t
		f.decide(name, t.resource)
		if f.evidence.document != nil && f.evidence.document.isPartial {
			f.signal()
		}
	}
	return t
}

// WaitForServed blocks until the server serves a resource. If ctx ends first, the error wraps
// cache.ErrNotServed and says why the resource is not served. Pass a context with a timeout, unless
// the program has nothing to do without the resource.
func (f *Follower) WaitForServed(ctx context.Context, resource schema.GroupVersionResource) error {
	if f.invalid != nil {
		return fmt.Errorf("follow: %w", f.invalid)
	}
	t := f.track(resource)
	for {
		_, changed := f.current()
		verdict := t.resource.Verdict()
		if verdict.Outcome == served.Served {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if verdict.Err == nil { // the follower is blind
				verdict.Err = errors.Join(fmt.Errorf("%s: %w: %w", text(resource), cache.ErrNotServed, errPending), f.Status().Err)
			}
			return fmt.Errorf("%w: %w", context.Cause(ctx), verdict.Err)
		}
	}
}

// current returns the last document, nil before the first, and a channel that is closed when it
// or verdicts change.
func (f *Follower) current() (*document, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.evidence.document, f.changed
}

// followAll adds n to the number of those that follow all resources.
func (f *Follower) followAll(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.followed += n
	f.signal() // a server without aggregated discovery is asked for all groups
}

// own makes the follower decide on a resource of Informers until disown, unless it is unselected.
func (f *Follower) own(name schema.GroupVersionResource, resource *served.Resource) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if resource.Verdict().Outcome != served.Unselected {
		f.decide(name, resource)
		f.owned[resource] = name
	}
}

// disown leaves the verdict on a resource as it is.
func (f *Follower) disown(resource *served.Resource) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.owned, resource)
}

// unselect ends the requests for a resource of Informers for good.
func (f *Follower) unselect(resource *served.Resource) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.owned, resource)
	resource.Set(served.Unselected, errUnselected)
}

// Status returns the follower's condition.
func (f *Follower) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	status := f.status
	if f.definitions != nil {
		status.Definitions = f.definitions.Store().Len()
		status.Err = errors.Join(status.Err, f.definitions.Status().Err, f.apiServices.Status().Err)
	}
	return status
}

// Views returns views of the informers of CustomResourceDefinitions and APIServices.
func (f *Follower) Views() []cache.View {
	if f.definitions == nil {
		return nil
	}
	return append(f.definitions.Views(), f.apiServices.Views()...)
}

// handler returns a handler that records the events of CustomResourceDefinitions or APIServices.
func (f *Follower) handler(known map[string]*definition) func([]cache.Event[*metav1.PartialObjectMetadata]) {
	return func(events []cache.Event[*metav1.PartialObjectMetadata]) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, event := range events {
			obj := event.Object()
			if obj.Labels[automanaged] != "" {
				continue
			}
			if event.Type == cache.EventDelete {
				f.evidence.deleted(known, obj.Name, f.clock().Now())
				f.decideAll() // the next event may be its creation
			} else {
				f.evidence.seen(known, obj.Name, obj.Generation, event.InInitialList, f.clock().Now())
			}
		}
		f.decideAll()
		f.signal()
	}
}

// signal makes the follower ask what the server serves.
func (f *Follower) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// decideAll decides on all resources. The caller holds mu.
func (f *Follower) decideAll() {
	for name, t := range f.tracked {
		f.decide(name, t.resource)
	}
	for resource, name := range f.owned {
		f.decide(name, resource)
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// decide decides on a resource. Without evidence, it leaves the verdict as it is. A follower that is
// blind makes informers request what is not served. The caller holds mu.
func (f *Follower) decide(name schema.GroupVersionResource, resource *served.Resource) {
	before := resource.Verdict()
	outcome, known, why := f.evidence.verdictOn(name, before.Outcome, f.clock().Now())
	switch {
	case known && (f.blind == nil || outcome == served.Served):
	case f.blind != nil && before.IsAbsent():
		outcome, why = served.Unknown, nil
	default:
		return
	}
	resource.Set(outcome, why)
}

// findBlind returns why the follower cannot see what the server serves. The caller holds mu.
func (f *Follower) findBlind() error {
	for _, informer := range []*cache.SharedInformer[*metav1.PartialObjectMetadata]{f.definitions, f.apiServices} {
		if err := informer.Status().Err; apierrors.IsForbidden(err) || err != nil && !informer.HasSynced() {
			return err
		}
	}
	if f.evidence.document == nil {
		return f.status.Err
	}
	return nil
}

// runDiscovery asks the server what it serves, after each change and now and then.
func (f *Follower) runDiscovery(ctx context.Context) error {
	const burst = discoveryBurst * discoveryPeriod
	full := f.clock().Now() // when the bucket of requests is full again
	for repeat := time.Duration(0); ctx.Err() == nil; {
		now := f.clock().Now()
		if full.Before(now) {
			full = now
		}
		full = full.Add(discoveryPeriod)
		f.sleep(ctx, full.Sub(now)-burst, nil)
		sees := f.ask(ctx)
		if repeat = max(2*repeat, discoveryGap); repeat > lastRepeat {
			if repeat = lastRepeat; sees {
				repeat = discoveryInterval
			}
		}
		f.sleep(ctx, discoveryGap, nil)
		if !f.sleep(ctx, repeat-discoveryGap, f.wake) {
			repeat = 0
		}
	}
	return nil
}

func (f *Follower) clock() clock.Clock {
	return cmp.Or[clock.Clock](f.options.Clock, clock.RealClock{})
}

// sleep waits for d. It reports false if ctx ends or wake receives a value before.
func (f *Follower) sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	select { // a change takes precedence
	case <-wake:
		return false
	default:
	}
	timer := f.clock().NewTimer(max(0, d))
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-wake:
	case <-ctx.Done():
	}
	return false
}

// ask asks the server what it serves, and decides on all resources. It reports false if the follower is
// blind: that may end without a change.
func (f *Follower) ask(ctx context.Context) (sees bool) {
	f.mu.Lock()
	f.evidence.asked++
	number := f.evidence.asked
	f.status.Requests++
	all := f.followed > 0
	versions := make(map[schema.GroupVersion]bool)
	for name := range f.tracked {
		versions[name.GroupVersion()] = true
	}
	maps.DeleteFunc(f.evidence.groups, func(_ string, at time.Time) bool { return f.clock().Since(at) >= evidenceAge })
	changed := maps.Clone(f.evidence.groups)
	last := f.evidence.document
	f.mu.Unlock()
	document, err := f.discoverer.ask(ctx, func(name schema.GroupVersion, known bool) bool {
		return (all || versions[name]) && (!known || !changed[name.Group].IsZero())
	})
	if ctx.Err() != nil {
		return false
	}
	f.report(ctx, err)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status.Err = err
	f.blind = f.findBlind()
	wasComplete := f.evidence.complete
	f.evidence.complete = !slices.ContainsFunc(f.listed, func(r *cache.Registration) bool { return !r.HasSynced() })
	if f.evidence.complete && !wasComplete {
		f.evidence.firstComplete = number + 1
	}
	if err == nil && document == last {
		f.status.Unchanged++
	}
	if err == nil && f.evidence.add(document, number, f.clock().Now()) || err != nil {
		f.decideAll()
	}
	return f.blind == nil && f.evidence.complete
}

// report passes an error of a discovery request on, or logs it once in five minutes.
func (f *Follower) report(ctx context.Context, err error) {
	logger, now := klog.FromContext(ctx), f.clock().Now()
	switch {
	case err == nil:
		if f.logged.Recovered(now) {
			logger.Info("Discovery recovered")
		}
	case f.options.ErrorHandler != nil:
		f.options.ErrorHandler(ctx, fmt.Errorf("discovery: %w", err))
	case f.logged.IsNew(err.Error(), now):
		f.logged.Failed()
		logger.Error(err, "Discovery failed")
	}
}
