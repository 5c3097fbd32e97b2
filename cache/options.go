// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/engine"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/mutation"
	"github.com/kinformer/kinformer/internal/served"
)

// InformerOptions are the options of a SharedInformer: which objects it holds, how it holds them,
// and how it requests them. The zero value is right for production.
type InformerOptions[T Object] struct {
	// Name identifies the informer in logs, errors and Status. The default is the objects' kind, or
	// the name of their Go type if the kind is not known.
	Name string

	// Scopes, if set, are the parts of the collection that the informer holds. They may change
	// while it runs. The ListerWatcher must list the whole collection; see ListWatchByNamespace.
	// Filter, Transform, index functions and ErrorHandler may be called for several scopes at a
	// time, and must be safe for concurrent use.
	Scopes *Scopes
	// Served, if set, makes the informer follow its resource, which the server may begin and cease
	// to serve: see package follow. While the resource is not served, the informer is in
	// PhaseNotServed and makes no requests, and HasSynced is false. It starts once the resource is
	// served.
	//
	// If the resource's CustomResourceDefinition is deleted, its objects are gone: handlers receive
	// their deletions, with FinalStateUnknown for those that no watch has shown. If only the
	// informer's version is not served any more, or the APIService was deleted, the objects may
	// exist: their deletions have LeftScope, and reads return errors; see ErrNotServed.
	// Handlers stay, and receive additions when the resource is served again.
	Served *Served
	// Filter selects the objects to store. An object that it refuses is absent from the store; if
	// it was stored before, it is deleted, with Event.LeftScope set. Filter is called before
	// Transform, with the object as the server sent it, except for OmitFields. It must depend on
	// the object alone and must not change it. A panic is an error on that object, whose last good
	// state is kept. Prefer a selector where the server has one: see WithLabelSelector.
	Filter func(obj T) bool
	// OmitFields are fields that the informer leaves out of the objects: paths such as
	// "metadata.managedFields", about half of a Pod's bytes, or "spec.containers.env", which
	// applies to all elements of the list. The key of a map is in brackets:
	// "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]". If the informer
	// streams (see EnableStreaming), the fields are cut out of the response before it is decoded,
	// and cost hardly more than their transfer. Otherwise they are cleared in the decoded object.
	// All fields but metadata.managedFields require NeverWritten.
	//
	// An omitted field has its zero value; in an unstructured object it is absent. The same holds
	// for a map of which all keys are omitted. Filter, Transform and index functions get the
	// objects without the fields. An update of omitted fields alone is stored and delivered, since
	// it has a new resourceVersion. The selectors of a request are not affected, as the server
	// applies them.
	//
	// A path is invalid if the objects' type has no such field, or if an informer needs the field,
	// such as metadata.uid. For unstructured objects only the syntax and the fields of metadata are
	// checked. Other paths that no object has had are in Status.Store.OmitFieldsNotFound, and are
	// logged once after the first list.
	//
	// An Update of a cached object without metadata.managedFields keeps those of the server. The
	// Extract functions of client-go's apply configurations read metadata.managedFields, and return
	// an empty configuration without it.
	OmitFields []string
	// NeverWritten declares that the program does not write the objects that it reads from the
	// informer: a Get from the cache, a modification and an Update of the object erase the omitted
	// fields at the server. A JSON merge patch with a list, computed from a cached object, erases
	// those of the list's elements. Nothing prevents such a write. Prefer a PartialObject, which
	// cannot be written. Otherwise, read an object from the server before writing it.
	NeverWritten bool
	// Transform changes objects before they are stored. Its result should depend on the object
	// alone. If it also depends on something else, such as the time, the store keeps the result of
	// the first call for each version. To leave fields out, prefer OmitFields.
	Transform TransformFunc[T]

	// Indexers are the store's indexes, by name.
	Indexers Indexers[T]
	// Packed stores each object as the bytes in which it differs from a similar object, in a sixth
	// (Nodes) to a thirtieth (Pods) of client-go's memory. Reading an object decodes it (30 to 40
	// µs for a Pod) unless a reader still references the decoded object. It suits large collections
	// of which little is read at a time; see docs/memory.md. Objects of types with protobuf methods
	// have no apiVersion and kind, and nil instead of empty maps and slices, as when decoded from
	// protobuf. The two states of an update may share equal parts.
	Packed bool
	// ShareEqual lets objects share equal maps, slices and structs, not only strings. A write into
	// one object, which is forbidden, is then visible in others. It has an effect on objects of
	// types with protobuf methods, if the informer streams or Packed is set.
	ShareEqual bool
	// DetectMutations passes an error that wraps ErrMutated to ErrorHandler for each cached object
	// that the program has written into. The error names the field. The option is for tests and
	// debugging: it keeps a copy of every object, and compares once a second and before Run
	// returns. A comparison during the write is a race, which the race detector reports. The
	// environment variable KUBE_CACHE_MUTATION_DETECTOR=true sets the option for all informers that
	// are not Packed. With Packed, the option is an error: readers do not get the stored object
	// itself.
	DetectMutations bool

	// WatchList requests the complete state, initially and for a relist, as the first events of the
	// watch (WatchList, or streaming lists: KEP-3157). The default is a list, and a watch from its
	// resourceVersion; docs/benchmarks/rows.md compares the two. If a WatchList fails, the
	// collection is listed instead. After a 429, the WatchList is requested again; after a stream
	// that ends early, once more. The informer stops using WatchList if the server does not support
	// it. It also stops, and reports that, if the server does not end the initial events.
	WatchList bool
	// StartAny makes the first list at resourceVersion=0, which an API server answers from its
	// watch cache. The state may be old if that server lags or is disconnected from etcd, and older
	// than what the program has seen before. It is for programs that must start while etcd is not
	// available, such as node agents and DNS. It has no effect on a WatchList, which always shows
	// the most recent state.
	//
	// By default, the first list is not older than the server's most recent state when the informer
	// starts, so that a program that restarts never sees an older state than before. A list with
	// limit=1 first requests the version of that state; API servers then answer the first list from
	// their watch cache. While the API server cannot read from etcd, the informer does not sync.
	StartAny bool
	// PageSize is the limit parameter of list requests, in objects. With zero, consistent reads
	// (resourceVersion="") have pages of 500, and so has the first list with StartAny. Other lists
	// are requested whole: API servers answer them from their watch cache. A negative value
	// disables paging.
	PageSize int64
	// Limits protect the informer from a broken or hostile server; see Limits.
	Limits Limits
	// Backoff is the delay between failed attempts. The zero value starts at 0.8 s and doubles up
	// to 30 s, with jitter, and less while connections fail. It starts again after two minutes
	// without a failure, and once the server answers after connections have failed. Any other value
	// also replaces the limit of requests between failed attempts: with a Duration of 10 ms, an
	// informer makes up to 200 requests a second to a server that refuses them. The server's
	// Retry-After is obeyed all the same. It is an error if Steps is positive and Duration is not.
	Backoff wait.Backoff

	// ResyncPeriod is the default of HandlerOptions.ResyncPeriod. Zero disables resyncs, which is
	// right for nearly all programs.
	ResyncPeriod time.Duration
	// ErrorHandler receives errors. The default logs them; see ErrorHandler.
	ErrorHandler ErrorHandler
	// Logger replaces the logger of Run's context.
	Logger klog.Logger
	// Clock replaces the real clock, for tests. In a testing/synctest bubble the real clock is the
	// bubble's.
	Clock clock.Clock
}

// TransformFunc returns the object to store: its argument, which it may change, or another object
// with the same name and namespace. It may clear UID and resourceVersion. It is called once for
// each state that is new to the store. It is called again for unchanged objects whose contents a
// list compares: the eight newest of a relist, and all objects after a restore of etcd.
//
// If it returns an error or nil, panics, or changes name or namespace, the error is reported and
// the object's last good state is kept. An error that wraps ErrSkip is not reported; see ErrSkip.
type TransformFunc[T Object] func(obj T) (T, error)

// reflectorOptions returns the options that an informer shares with a Reflector.
func (o InformerOptions[T]) reflectorOptions() ReflectorOptions {
	return ReflectorOptions{
		Name:         o.Name,
		WatchList:    o.WatchList,
		StartAny:     o.StartAny,
		PageSize:     o.PageSize,
		Limits:       o.Limits,
		Backoff:      o.Backoff,
		ErrorHandler: o.ErrorHandler,
		Logger:       o.Logger,
		Clock:        o.Clock,
	}
}

var errPackedMutations = errors.New("DetectMutations cannot be combined with Packed: readers do not get the stored object itself")

// check returns an error for options that cannot be combined or are out of range.
func (o InformerOptions[T]) check() error {
	err := o.reflectorOptions().check()
	if o.ResyncPeriod < 0 {
		err = errors.Join(err, fmt.Errorf("ResyncPeriod %v is negative", o.ResyncPeriod))
	}
	if o.Packed && o.DetectMutations {
		err = errors.Join(err, errPackedMutations)
	}
	if o.Scopes != nil {
		err = errors.Join(err, o.Scopes.internalSet().Err())
	}
	return err
}

func (o InformerOptions[T]) spec(lw ListerWatcher, objects codec.ObjectType, indexers map[string]indexFuncs[T], report *reporter) engine.Spec {
	if o.Scopes != nil {
		lw = scopedListWatch(lw)
	}
	spec := engine.Spec{
		Collection: o.reflectorOptions().collection(lw, objects, report),
		Informer: informer.Config{
			Name:        report.name,
			Clock:       o.Clock,
			Store:       storeConfig(KeyFunc[T](nil), indexers, report.object),
			Scopes:      o.Scopes.internalSet(),
			Terminating: func(value any) bool { return as[T](value).GetDeletionTimestamp() != nil },
		},
		OmitFields:   o.OmitFields,
		NeverWritten: o.NeverWritten,
		Packed:       o.Packed,
		Decode:       func(item feed.Item) (any, error) { return codec.Decode[T](item) },
	}
	spec.ShareEqual, spec.Reflector.Served = o.ShareEqual, func() *served.Resource { return served.ResourceOf(o.Served) }
	if filter := o.Filter; filter != nil {
		spec.Informer.Filter = func(obj runtime.Object) bool {
			object, ok := obj.(T)
			return !ok || filter(object) // the store reports an object of another type
		}
	}
	if transform := o.Transform; transform != nil {
		spec.Transform = func(key string, value any) (any, error) {
			result, err := transform(as[T](value))
			if err == nil && !codec.IsNil(result) && codec.Key(result) != key {
				err = fmt.Errorf("the result has key %q; name and namespace must not change", codec.Key(result))
			}
			return result, err
		}
	}
	return spec
}

// mutationDetector returns the detector that the options or the environment ask for, or nil.
func (o InformerOptions[T]) mutationDetector() *mutation.Detector {
	everywhere, _ := strconv.ParseBool(os.Getenv("KUBE_CACHE_MUTATION_DETECTOR")) //nolint:forbidigo // client-go's variable, so that one switch serves a whole program
	if o.DetectMutations || everywhere && !o.Packed {
		return mutation.New()
	}
	return nil
}

// sameAs returns an error that names the first option in which other differs.
func (o InformerOptions[T]) sameAs(other InformerOptions[T]) error {
	for _, option := range []struct {
		name        string
		own, theirs any
	}{
		{"Name", o.Name, other.Name},
		{"ResyncPeriod", o.ResyncPeriod, other.ResyncPeriod},
		{"the names of Indexers", fmt.Sprint(slices.Sorted(maps.Keys(o.Indexers))), fmt.Sprint(slices.Sorted(maps.Keys(other.Indexers)))},
		{"the presence of Transform", o.Transform != nil, other.Transform != nil},
		{"the presence of Filter", o.Filter != nil, other.Filter != nil},
		{"Packed", o.Packed, other.Packed},
		{"Scopes", o.Scopes, other.Scopes},
		{"Served", o.Served, other.Served},
		{"ShareEqual", o.ShareEqual, other.ShareEqual},
		{"DetectMutations", o.DetectMutations, other.DetectMutations},
		{"OmitFields", strings.Join(o.OmitFields, ", "), strings.Join(other.OmitFields, ", ")},
		{"NeverWritten", o.NeverWritten, other.NeverWritten},
		{"WatchList", o.WatchList, other.WatchList},
		{"StartAny", o.StartAny, other.StartAny},
		{"PageSize", o.PageSize, other.PageSize},
		{"Limits", o.Limits, other.Limits},
		{"Backoff", o.Backoff, other.Backoff},
	} {
		if option.own != option.theirs {
			return fmt.Errorf("%s differs from the informer's first use: %v, not %v", option.name, option.theirs, option.own)
		}
	}
	return nil
}

// Served is what is known of a resource that the server may begin and cease to serve, such as one
// of a CustomResourceDefinition. Method Resource of a follow.Follower returns one, for
// InformerOptions.Served. Several informers may share it.
type Served = served.Published
