// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/engine"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/served"
	"github.com/kinformer/kinformer/internal/source"
)

// Options are the options of an informer in addition to client-go's. With the zero value it behaves
// as client-go's, with the differences that docs/adopting.md lists. In a factory, they apply to
// every informer.
type Options struct {
	// UseClientGo makes constructors return client-go's informers, factories and stores, so that a
	// flag of the program is the way back. A factory decides once, as it is made. [Adopt] returns
	// its argument, and InformerFor of [Generated] returns the factory's informer. A [Reflector]
	// has no such switch: it logs a warning.
	//
	// With Filter or Scopes, which client-go does not have, an informer of this package is returned
	// that logs an error and never syncs: client-go's would have objects that the program does not
	// expect. The other options have no effect. Objects are whole and not packed, so the program
	// takes the memory that client-go takes, and fields that OmitFields omits are in it. No
	// informer is added to Group. While its resource is not served, an informer does not sync, and
	// its lister does not return ErrNotServed.
	//
	// A transform must not return cache.ErrSkip: client-go logs the whole object, keeps one whose
	// deletion is skipped, and does not sync if an object of the list is. [ControllerOf] returns an
	// invalid controller, whose Run, waits and health checks return an error.
	UseClientGo bool
	// Packed stores objects as bytes; see cache.InformerOptions. If a transform returns an object
	// of another type, that object is stored unpacked, which is logged once. Do not set
	// controller-runtime's UnsafeDisableDeepCopy with it.
	Packed bool
	// ShareEqual lets objects share equal parts; see cache.InformerOptions. It has no effect unless
	// Packed is set or the informer streams.
	ShareEqual bool
	// OmitFields are fields that the informer leaves out of the objects, such as
	// "metadata.managedFields"; see cache.InformerOptions. In a factory, every type must have each
	// field. An informer with an invalid path logs an error and does not run.
	OmitFields []string
	// NeverWritten declares that the program does not write the objects that it reads from the
	// informer: a Get from the cache, a modification and an Update of the object erase the omitted
	// fields at the server, and nothing prevents that. Prefer a PartialObject of package cache,
	// which cannot be written. OmitFields requires NeverWritten for all fields but
	// metadata.managedFields.
	NeverWritten bool
	// Streaming declares that the program's own list and watch functions return the server's
	// response unchanged. The informer then streams if cache.EnableStreaming has prepared the
	// client's config. [Adopt] and [Options.NewInformer] need EnableStreaming alone, since their
	// functions are known to return the response unchanged, and factories, [Generated], and dynamic
	// and metadata informers need neither. InformerFor of a factory needs both: its function is the
	// program's, and receives the program's client.
	//
	// If the informer does not stream although Streaming is set or the config was prepared, a
	// warning with the reason is logged once. Status.Requests.NotStreamingReason has the reason,
	// too; see [StatusOf].
	Streaming bool
	// DisableStreaming makes the client decode the objects in any case. Set it if an informer
	// passed to [Adopt], or a function of [Generated], filters or changes the server's response.
	// The client then repeats some failed requests by itself; see cache.EnableStreaming.
	DisableStreaming bool
	// CoalesceWhenBehind coalesces the events of a handler that is far behind, as package cache
	// does by default; see EveryEvent of cache.HandlerOptions. By default, handlers receive every
	// event, as in client-go, and the backlog of a blocked handler is not bounded.
	CoalesceWhenBehind bool
	// Limits bound the size of objects and responses, in bytes, while the informer streams. The
	// zero value is right for production.
	Limits cache.Limits
	// StartConsistent makes the first list not older than the server's most recent state when the
	// informer starts. A list with limit=1 first requests the version of that state. That request
	// has no selectors but those of the list function. While the API server cannot read from etcd,
	// the informer does not sync.
	//
	// By default, the first list is at resourceVersion=0, as in client-go: it may be of any state
	// that the server has, as with StartAny of cache.InformerOptions.
	//
	// The option has no effect on a WatchList, which always shows the most recent state. As in
	// client-go, an informer requests a WatchList while the feature gate WatchListClient is on,
	// which is the default, unless the ListerWatcher declares that it does not support WatchList.
	StartConsistent bool
	// RelistUpdates makes a relist emit an update for each unchanged object, as client-go does.
	RelistUpdates bool
	// Filter selects the objects to store, as in cache.InformerOptions. In a factory, it is called
	// with the objects of every informer, and must return true for types that it does not know. To
	// ignore a state of an object instead, a transform returns cache.ErrSkip.
	Filter func(obj any) bool
	// Scopes, if set, returns the scopes that an informer of a type holds, or nil for the whole
	// collection. It must return nil for types without namespaces if the scopes are namespaces.
	// They may change while the informer runs; see cache.Scopes. The informer requests a namespace
	// by a field selector, since its list function is bound to a path. So the program needs the
	// permission to list and watch the objects of all namespaces. The list function must not set a
	// selector itself, for example by a factory's tweakListOptions: its field or label selector
	// would replace the scope's.
	Scopes func(example runtime.Object) *cache.Scopes
	// Served, if set, makes informers follow their resources, which the server may begin and cease
	// to serve. Use method Resource of a follow.Follower, or a function that returns nil for
	// resources that are always served. The informers of dynamic and metadata factories follow from
	// the start, as their resource is known. Others follow from their first request on, if they are
	// of a factory or cache.EnableStreaming has prepared the client's config. HasSynced stays true
	// once it was true, as in client-go, and Get, GetByKey and reads by an index return an error
	// that wraps cache.ErrNotServed while the objects may exist; see cache.InformerOptions. An
	// object that the program writes into the store meanwhile is read by its key, until a list, or
	// a change of what is served, removes it.
	Served func(schema.GroupVersionResource) *cache.Served
	// Group, if set, receives every informer that is made with these options, so that packages
	// metrics and debug can show them. The factory or manager runs them, not the group: the program
	// must not call its Run.
	Group *cache.Group
}

// NewInformer returns an informer of lw's objects that is not running. It is the value of the
// option NewInformer of controller-runtime's package cache:
//
//	cache.Options{NewInformer: clientgo.Options{Packed: true}.NewInformer}
//
// See Options.Streaming for when it streams. e2e/controllerruntime has an example with a manager.
func (o Options) NewInformer(lw clientcache.ListerWatcher, exampleObject runtime.Object, resyncPeriod time.Duration, indexers clientcache.Indexers) clientcache.SharedIndexInformer {
	if o.usesClientGo() {
		return clientcache.NewSharedIndexInformer(lw, exampleObject, resyncPeriod, notNil(indexers))
	}
	return newInformer(lw, exampleObject, settings{
		SharedIndexInformerOptions: clientcache.SharedIndexInformerOptions{ResyncPeriod: resyncPeriod, Indexers: indexers},
		Options:                    o,
		unchanged:                  true,
	})
}

// usesClientGo reports whether constructors of informers return client-go's.
func (o Options) usesClientGo() bool { return o.UseClientGo && o.check() == nil }

// check returns an error for options that cannot be combined.
func (o Options) check() error {
	if o.UseClientGo && (o.Filter != nil || o.Scopes != nil) {
		return errors.New("UseClientGo cannot be combined with Filter or Scopes: client-go's informer would have all objects")
	}
	return nil
}

// withoutEffectOnReflectors returns the names of the options that are set, and that a Reflector,
// whose store is the program's, cannot apply.
func (o Options) withoutEffectOnReflectors() (names []string) {
	if o.UseClientGo {
		names = append(names, "UseClientGo")
	}
	if o.Packed {
		names = append(names, "Packed")
	}
	if o.Filter != nil {
		names = append(names, "Filter")
	}
	if len(o.OmitFields) > 0 {
		names = append(names, "OmitFields")
	}
	if o.Served != nil {
		names = append(names, "Served")
	}
	return names
}

// settings are all options of an informer.
type settings struct {
	clientcache.SharedIndexInformerOptions
	Options
	unchanged       bool // the list and watch function are known to return the server's response unchanged
	tap             clientTap
	minWatchTimeout time.Duration
	resource        schema.GroupVersionResource // empty if it is not known
}

// streaming returns what is known of the list and watch function, and what the program asks for.
func (s settings) streaming() source.Streaming {
	switch {
	case s.DisableStreaming:
		return source.Disabled
	case s.Streaming:
		return source.Requested
	case s.unchanged && s.tap.isOwn:
		return source.ByDefault
	case s.unchanged:
		return source.Unchanged
	}
	return source.Unknown
}

// maxReadTime is the longest source.Config.ReadTime of an informer that streams by default. API
// servers end a request after a minute.
const maxReadTime = 10 * time.Second

// readTime returns source.Config.ReadTime.
func (s settings) readTime() time.Duration {
	if !s.tap.isOwn { // the program has asked for streaming
		return 0
	}
	if timeout := s.tap.client.timeout; timeout > 0 {
		return min(maxReadTime, timeout/2)
	}
	return maxReadTime
}

func (s settings) collection(lw clientcache.ListerWatcher, objects codec.ObjectType, report func(context.Context, error)) engine.Collection {
	requests := &listerWatcher{ListerWatcher: lw}
	collection := engine.Collection{
		Source: source.Config{
			ListerWatcher: requests,
			Objects:       objects,
			Streaming:     s.streaming(),
			NoContext:     hasNoContext(lw),
			NoTap:         s.tap.missing,
			ReadTime:      s.readTime(),
			Fake:          watchlist.DoesClientNotSupportWatchListSemantics(lw), // as client-go's fakes declare
			Unnamed:       true,
		},
		Reflector: reflector.Config{
			WatchList:       func() bool { return mayWatchList(lw) },
			MinWatchTimeout: s.minWatchTimeout,
			Report:          report,
		},
		Limits:             engine.Limits(s.Limits),
		ShareEqual:         s.ShareEqual,
		OnlyStreamsOverlap: true,
	}
	if s.StartConsistent { // client-go's first list may be of any version
		collection.Reflector.Start = s.tap.start(objects, s.resource)
	}
	if s.Served != nil {
		collection.Reflector.Served = requests.found.Load
		if s.resource.Empty() {
			requests.served = s.Served
		} else {
			requests.found.Store(served.ResourceOf(s.Served(s.resource)))
		}
	}
	return collection
}
