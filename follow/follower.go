// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/errlog"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/served"
)

const (
	// discoveryBurst is the number of discovery requests that may follow each other at
	// discoveryGap, and discoveryPeriod the time after which there may be one more.
	discoveryBurst  = 12
	discoveryPeriod = 5 * time.Second
	// discoveryGap is the least time between two discovery requests. It is also the time after
	// which the first one after a change is repeated. That time doubles, up to lastRepeat: a server
	// may be the last one to learn of a change.
	discoveryGap = time.Second
	lastRepeat   = 64 * time.Second
	// discoveryInterval is the time between requests without a change. An aggregated API may change
	// what it serves, and its APIService does not.
	discoveryInterval = 10 * time.Minute
	// maxListWait is the longest time that the first discovery request waits for the lists of
	// CustomResourceDefinitions and APIServices. A list without progress fails only after minutes.
	maxListWait = 30 * time.Second

	// automanaged is a label of the APIServices that the server itself makes for its resources and
	// for those of CustomResourceDefinitions. They are no evidence: their own events come too early
	// or late. The label says nothing of a CustomResourceDefinition. An APIService that gets it
	// later remains evidence, but no longer makes Resource.CustomResource false.
	automanaged = "kube-aggregator.kubernetes.io/automanaged"
)

// Options are the options of a Follower. The zero value is right for production.
type Options struct {
	// ErrorHandler receives the errors of requests, those of the informers of
	// CustomResourceDefinitions and APIServices included. The default logs them, as
	// cache.ErrorHandler says.
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
	options    Options
	informers  []*metadataInformer // of CustomResourceDefinitions and APIServices; none if the arguments of New are invalid
	discoverer *discoverer
	wake       chan struct{} // of capacity 1; something has changed
	logged     errlog.Requests
	started    atomic.Bool

	publishing sync.Mutex // guards published
	published  map[schema.GroupVersionResource]*cache.Served

	mu        sync.Mutex // guards the fields below
	evidence  evidence
	resources map[*served.Resource]schema.GroupVersionResource // on which the follower decides
	changed   chan struct{}                                    // closed and replaced when verdicts or the document have changed
	status    Status
	failing   bool // it does not observe what the server serves, see doc.go
}

type metadataInformer = cache.SharedInformer[*metav1.PartialObjectMetadata]

//nolint:gochecknoglobals // constants
var (
	definitionsResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	apiServicesResource = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	// allResources stands for all resources in Follower.resources.
	allResources = schema.GroupVersionResource{}
)

// Status describes a Follower.
type Status struct {
	// Err is why the last discovery request failed, or why CustomResourceDefinitions or APIServices
	// cannot be watched. It is nil if all is well. While there is an error, resources are taken to
	// be as they were. Without the permission to list and watch CustomResourceDefinitions and
	// APIServices, informers do not follow: they request what is not served, and report the 404. If
	// the server does not serve them, as discovery confirms, informers follow all the same.
	Err error
	// Requests is the number of requests for the groups of the server, including one in progress.
	// Of these, Unchanged were answered with 304, Changed with 200, and Failed have failed.
	Requests, Changed, Unchanged, Failed uint64
	// AnsweredAt is when the last of the requests for the groups succeeded. It is zero before.
	AnsweredAt time.Time
	// Definitions is the number of CustomResourceDefinitions.
	Definitions int
}

var (
	errPending  = errors.New("the follower does not know yet whether the server serves it")
	errNoClient = errors.New("follow: a client is nil, or the discovery client has no REST client, as client-go's fake ones: use those of a fake.APIServer")
	errRunTwice = errors.New("follow: Run was called before")
)

// New returns a follower of what a server serves. It makes no request before Run. The config of the
// clients should be prepared by cache.EnableStreaming: annotations, which may hold whole schemas,
// are then cut from the responses. If a client is nil, or discovery is client-go's fake one, Run
// returns an error.
func New(client metadata.Interface, discovery discovery.DiscoveryInterface, options Options) *Follower {
	options.Clock = cmp.Or[clock.Clock](options.Clock, clock.RealClock{})
	f := &Follower{
		options: options, wake: make(chan struct{}, 1), evidence: newEvidence(), changed: make(chan struct{}),
		published: make(map[schema.GroupVersionResource]*cache.Served), resources: make(map[*served.Resource]schema.GroupVersionResource),
	}
	if f.discoverer = newDiscoverer(discovery, f.wants); f.discoverer == nil || client == nil {
		return f
	}
	f.addInformer(client, definitionsResource, "CustomResourceDefinition", f.evidence.definitions)
	f.addInformer(client, apiServicesResource, "APIService", f.evidence.apiServices)
	return f
}

// addInformer adds an informer of definitions, of which it keeps little more than their names.
func (f *Follower) addInformer(client metadata.Interface, resource schema.GroupVersionResource, kind string, known map[string]*definition) {
	example := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: resource.GroupVersion().String(), Kind: kind}}
	informer := cache.NewSharedInformer(cache.ListWatchOf(client.Resource(resource)), example, cache.InformerOptions[*metav1.PartialObjectMetadata]{
		OmitFields:   []string{"metadata.annotations", "metadata.managedFields"},
		NeverWritten: true,
		Packed:       true,
		ErrorHandler: f.options.ErrorHandler,
		Logger:       f.options.Logger,
		Clock:        f.options.Clock,
	})
	_, _ = informer.AddBatchHandler(func(events []cache.Event[*metav1.PartialObjectMetadata]) { // an error would be that of Run, too
		f.record(resource, known, events)
	}, cache.HandlerOptions{Name: "follow"})
	f.informers = append(f.informers, informer)
}

// Run follows what the server serves until ctx ends, and returns nil. It must be called once. It
// returns an error if the arguments of New are invalid.
func (f *Follower) Run(ctx context.Context) error {
	if f.informers == nil {
		return errNoClient
	}
	if f.started.Swap(true) {
		return errRunTwice
	}
	if f.options.Logger.GetSink() != nil {
		ctx = klog.NewContext(ctx, f.options.Logger)
	}
	return cache.RunAll(ctx, f.informers[0].Run, f.informers[1].Run, f.runDiscovery)
}

// Resource returns what is known of a resource, for cache.InformerOptions.Served. It returns the
// same value for the same resource.
func (f *Follower) Resource(resource schema.GroupVersionResource) *cache.Served {
	f.publishing.Lock()
	defer f.publishing.Unlock()
	if f.published[resource] == nil {
		f.published[resource] = served.Publish(f.own(resource))
	}
	return f.published[resource]
}

// WaitForServed blocks until the server serves a resource. If ctx ends first, the error wraps
// cache.ErrNotServed and says why the resource is not served. Pass a context with a timeout, unless
// the program has nothing to do without the resource.
func (f *Follower) WaitForServed(ctx context.Context, resource schema.GroupVersionResource) error {
	if f.informers == nil {
		return errNoClient
	}
	known := f.own(resource)
	defer f.disown(known)
	for {
		changed := f.nextChange()
		verdict := known.Verdict()
		if verdict.Outcome == served.Served {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), errors.Join(verdict.Err, f.Status().Err))
		}
	}
}

// nextChange returns a channel that is closed when verdicts or the resources of current change.
func (f *Follower) nextChange() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

// current returns the resources that the server serves, none before the first document, and a
// channel that is closed when they or verdicts change.
func (f *Follower) current() ([]Resource, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.evidence.resources(), f.changed
}

// own returns a resource on which the follower decides until disown.
func (f *Follower) own(name schema.GroupVersionResource) *served.Resource {
	resource := served.New(fmt.Errorf("%s: %w: %w", text(name), served.ErrNotServed, errPending))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.resources[resource] = name
	f.decide(name, resource)
	if f.evidence.document.isPartial {
		signal(f.wake)
	}
	return resource
}

// disown leaves the verdict on a resource as it is.
func (f *Follower) disown(resource *served.Resource) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.resources, resource)
}

// Status returns the follower's condition.
func (f *Follower) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	status := f.status
	if f.informers != nil {
		status.Definitions = f.informers[0].Store().Len()
		status.Err = errors.Join(status.Err, f.informers[0].Status().Err, f.informers[1].Status().Err)
	}
	return status
}

// Views returns views of the informers of CustomResourceDefinitions and APIServices, in this order.
func (f *Follower) Views() (views []cache.View) {
	for _, informer := range f.informers {
		views = append(views, informer.Views()...)
	}
	return views
}

// record records events of CustomResourceDefinitions or APIServices.
func (f *Follower) record(resource schema.GroupVersionResource, known map[string]*definition, events []cache.Event[*metav1.PartialObjectMetadata]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.options.Clock.Now()
	for _, event := range events {
		obj := event.Object()
		before := known[obj.Name]
		switch {
		case resource == apiServicesResource && obj.Labels[automanaged] != "" && (before == nil || !before.exists):
		case event.Type == cache.EventDelete:
			f.evidence.deleted(known, obj.Name, now)
			f.decideAll() // the next event may be its creation
		default:
			f.evidence.seen(known, obj.Name, obj.Generation, event.InInitialList, now)
			known[obj.Name].labelled = obj.Labels[automanaged] != ""
		}
	}
	f.decideAll()
	signal(f.wake)
}

// signal makes the receiver of wake look for changes.
func signal(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// decideAll decides on all resources. The caller holds mu.
func (f *Follower) decideAll() {
	for resource, name := range f.resources {
		f.decide(name, resource)
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// decide decides on a resource. Without evidence, it leaves the verdict as it is. A follower that
// does not observe makes informers request what is not served. The caller holds mu.
func (f *Follower) decide(name schema.GroupVersionResource, resource *served.Resource) {
	before := resource.Verdict()
	outcome, why := f.evidence.verdictOn(name, before, f.options.Clock.Now())
	switch {
	case !f.failing || outcome == served.Served:
		resource.Set(outcome, why)
	case before.IsAbsent():
		resource.Set(served.Unknown, why)
	}
}

// runDiscovery asks the server what it serves, after each change and now and then.
func (f *Follower) runDiscovery(ctx context.Context) error {
	f.awaitLists(ctx)
	limit := rate.NewLimiter(rate.Every(discoveryPeriod), discoveryBurst)
	for repeat := time.Duration(0); ctx.Err() == nil; {
		now := f.options.Clock.Now()
		f.sleep(ctx, limit.ReserveN(now, 1).DelayFrom(now), nil)
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

// awaitLists blocks until the lists of CustomResourceDefinitions and APIServices have each
// succeeded or failed, maxListWait has passed, or ctx ends. Discovery does not say which resources
// are custom ones.
func (f *Follower) awaitLists(ctx context.Context) {
	limit := f.options.Clock.After(maxListWait)
	for _, informer := range f.informers {
		hasListed := func(status cache.Status) bool { return status.Handlers[0].Synced || status.Err != nil }
		if !awaitStatus(ctx, limit, informer, hasListed) {
			return
		}
	}
}

// sleep waits for d. It reports false if ctx ends or wake receives a value before.
func (f *Follower) sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	select {
	case <-f.options.Clock.After(d):
		return true
	case <-wake:
	case <-ctx.Done():
	}
	return false
}

// ask asks the server what it serves, and decides on all resources. It reports false if the request
// has failed or the follower does not observe: that may end without a change.
func (f *Follower) ask(ctx context.Context) (sees bool) {
	f.mu.Lock()
	f.evidence.asked++
	f.status.Requests++
	f.mu.Unlock()
	last := f.discoverer.last
	document, err := f.discoverer.ask(ctx)
	err = feed.CauseFirst(err)
	if ctx.Err() != nil {
		return false
	}
	f.report(ctx, err)
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.options.Clock.Now()
	switch f.status.Err = err; {
	case err != nil:
		f.status.Failed++
	case document == last:
		f.status.Unchanged++
	default:
		f.status.Changed++
	}
	if err == nil {
		f.status.AnsweredAt = now
		f.evidence.add(document, now)
	}
	f.look()
	f.decideAll()
	return err == nil && !f.failing && f.evidence.complete > 0
}

// wants reports whether a server without aggregated discovery is asked for a version: if it is of
// the core group or followed, and its resources are not known or a definition of its group has
// changed. keep is false if it is neither: what is known of it gets old.
func (f *Follower) wants(version schema.GroupVersion, known bool) (ask, keep bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	keep = version.Group == ""
	for _, name := range f.resources {
		keep = keep || name == allResources || name.GroupVersion() == version
	}
	return keep && (!known || f.options.Clock.Since(f.evidence.groups[version.Group]) < evidenceAge), keep
}

// look finds out whether the follower observes, and whether all definitions have been listed. Those
// that the server does not serve, by discovery, are not missed. The caller holds mu.
func (f *Follower) look() {
	hasDocument, isComplete := f.evidence.answered > 0, true
	f.failing = !hasDocument && f.status.Err != nil
	for i, resource := range []schema.GroupVersionResource{definitionsResource, apiServicesResource} {
		status := f.informers[i].Status()
		if apierrors.IsNotFound(status.Err) && hasDocument && f.evidence.document.lacks(resource) {
			continue
		}
		f.failing = f.failing || apierrors.IsForbidden(status.Err) || status.Err != nil && !status.Synced
		isComplete = isComplete && status.Handlers[0].Synced
	}
	if isComplete && f.evidence.complete == 0 {
		f.evidence.complete = f.evidence.asked + 1
	}
}

// report passes an error of a discovery request on, or logs it once in five minutes.
func (f *Follower) report(ctx context.Context, err error) {
	logger, now := klog.FromContext(ctx), f.options.Clock.Now()
	switch {
	case err == nil && f.logged.Recovered(now):
		logger.Info("Discovery recovered")
	case err == nil:
	case f.options.ErrorHandler != nil:
		f.options.ErrorHandler(ctx, fmt.Errorf("discovery: %w", err))
	case f.logged.IsNew(err.Error(), now):
		f.logged.Failed()
		logger.Error(err, "Discovery failed")
	}
}
