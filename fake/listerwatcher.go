// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/fake/internal/fault"
	"github.com/kinformer/kinformer/fake/internal/fieldset"
	"github.com/kinformer/kinformer/fake/internal/history"
)

// Object is a Kubernetes object: a pointer to a generated type, *unstructured.Unstructured or
// *metav1.PartialObjectMetadata.
type Object interface {
	runtime.Object
	metav1.Object
}

// ListerWatcher is an in-memory collection of objects of one type, for unit tests. The code under
// test calls List and Watch. The test calls the other methods, which act as other clients (Create,
// Update, Delete), as the operator of the server (Compact, TruncateWatchCache, Restore), or
// inject faults.
//
// Lists and watches work as those of kube-apiserver: pages at the version of the first page, lists
// with resourceVersionMatch Exact and NotOlderThan, label and field selectors, shard selectors (see
// SetShardedListAndWatch), watches that replay the history or report 410, bookmarks, WatchList,
// TimeoutSeconds.
//
// When a write returns, its event is in the channel of every watch whose reader is less than 100
// events behind. Objects are copied on the way in and out, and never shared. All methods are safe
// for concurrent use.
//
// A method panics if the test makes a mistake: Create if the object exists or has no name, Update
// and Delete if there is no such object, Restore if the version is invalid or no longer in the
// history.
type ListerWatcher[T Object] struct {
	memory  *history.Memory
	objects *history.Collection
	newList func([]*history.Item, metav1.ListMeta) (runtime.Object, error)

	faults fault.Queue

	mu             sync.Mutex // guards the fields below
	requests       []Request
	streams        []*stream     // open watches, oldest first
	bookmarkPeriod time.Duration // for watches opened later; zero means no bookmarks
}

// Request is one call of List or Watch.
type Request struct {
	// Verb is "list" or "watch".
	Verb string
	// Options is a copy of the argument.
	Options metav1.ListOptions
	// Time is the time of the call, on the bubble's clock in a synctest bubble.
	Time time.Time
}

// NewListerWatcher returns an empty collection of objects of example's type. If the example is a
// *unstructured.Unstructured or *metav1.PartialObjectMetadata, its apiVersion and kind must be set.
func NewListerWatcher[T Object](example T) *ListerWatcher[T] {
	blank := blankOf(example)
	memory := history.NewMemory()
	return &ListerWatcher[T]{
		memory:  memory,
		newList: listFuncFor(blank),
		objects: memory.Collection(history.Spec{
			Resource:   resourceOf(blank),
			New:        func() history.Object { return blank.DeepCopyObject().(history.Object) },
			Fields:     func(obj history.Object) fields.Fields { return fieldset.Of(obj) },
			CheckField: func(field string) error { return fieldset.Check(blank, field) },
		}),
	}
}

// ListsMostRecent returns true: even a list at resourceVersion "0" has the most recent state, as
// there is no watch cache. So an informer of package cache does not ask for the most recent version
// before its first list.
func (lw *ListerWatcher[T]) ListsMostRecent() bool { return true }

// Create stores a copy of obj with a new resourceVersion, and with a new UID and creationTimestamp
// unless obj has them. Without a name, it gets one from its generateName. Create returns another
// copy of the stored object.
func (lw *ListerWatcher[T]) Create(obj T) T {
	obj = clone(obj)
	lw.setMetadata(obj)
	return lw.apply(history.KeyOf(obj), func(current history.Object) (history.Object, error) {
		if current != nil {
			return nil, fmt.Errorf("create %q: already exists", history.KeyOf(obj))
		}
		return obj, nil
	})
}

// setMetadata sets the metadata that a server sets on a new object.
func (lw *ListerWatcher[T]) setMetadata(obj T) {
	uid := lw.memory.NewUID()
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		obj.SetName(obj.GetGenerateName() + string(uid[len(uid)-5:]))
	}
	if obj.GetName() == "" {
		panic(fmt.Sprintf("fake.ListerWatcher: create %T: no name", obj))
	}
	if obj.GetUID() == "" {
		obj.SetUID(uid)
	}
	if stamp := obj.GetCreationTimestamp(); stamp.IsZero() {
		obj.SetCreationTimestamp(metav1.Unix(time.Now().Unix(), 0))
	}
}

// Update replaces the stored object with a copy of obj and returns another copy, with the new
// resourceVersion. It ignores the resourceVersion of obj and keeps the UID and creationTimestamp of
// the stored object. Unlike in kube-apiserver, an update that changes nothing is written too.
func (lw *ListerWatcher[T]) Update(obj T) T {
	obj = clone(obj)
	return lw.apply(history.KeyOf(obj), func(current history.Object) (history.Object, error) {
		if current == nil {
			return nil, fmt.Errorf("update %q: not found", history.KeyOf(obj))
		}
		obj.SetUID(current.GetUID())
		obj.SetCreationTimestamp(current.GetCreationTimestamp())
		return obj, nil
	})
}

// Delete removes the object with the given key, "namespace/name" or "name", and returns its last
// state with the resourceVersion of the deletion.
func (lw *ListerWatcher[T]) Delete(key string) T {
	return lw.apply(key, func(current history.Object) (history.Object, error) {
		if current == nil {
			return nil, fmt.Errorf("delete %q: not found", key)
		}
		return nil, nil
	})
}

// apply writes a change and delivers its event to the watches. It panics if change returns an
// error.
func (lw *ListerWatcher[T]) apply(key string, change func(history.Object) (history.Object, error)) T {
	stored, err := lw.objects.Apply(key, change)
	if err != nil {
		panic("fake.ListerWatcher: " + err.Error())
	}
	lw.deliver()
	return clone(stored.(T))
}

// Get returns a copy of the object with the given key, "namespace/name" or "name". The boolean
// reports whether the object exists.
func (lw *ListerWatcher[T]) Get(key string) (T, bool) {
	obj, ok := lw.objects.Get(key)
	if !ok {
		var none T
		return none, false
	}
	return clone(obj.(T)), true
}

// ResourceVersion returns the resourceVersion of the last write.
func (lw *ListerWatcher[T]) ResourceVersion() string {
	return history.FormatVersion(lw.memory.Version())
}

// SkipVersions advances the resourceVersion by n, as writes to other collections do.
func (lw *ListerWatcher[T]) SkipVersions(n uint64) {
	lw.memory.SkipVersions(n)
}

// LimitHistory sets the number of changes kept in the history, 4,096 by default. It takes effect at
// the next write.
func (lw *ListerWatcher[T]) LimitHistory(changes int) {
	lw.objects.SetLimit(changes)
}

// SetShardedListAndWatch switches the feature gate ShardedListAndWatch (KEP-5866). It is off by
// default, as in kube-apiserver 1.36: List and Watch ignore ShardSelector. While it is on, they
// select only objects whose hash is in its ranges, and return an error if it is invalid. The
// ShardInfo of a list returns the selector, except in lists of PartialObjectMetadata and of
// unstructured objects whose kind is not in client-go's scheme.
//
// The gate applies to calls that follow, and an open watch continues as it began.
func (lw *ListerWatcher[T]) SetShardedListAndWatch(enabled bool) {
	lw.memory.SetSharding(enabled)
}

// Compact discards the history of changes, as a compaction of etcd followed by a restart of
// kube-apiserver does. A new watch, a list at an exact resourceVersion and a continue token get 410
// if their version is older. Open watches that have received all changes continue.
func (lw *ListerWatcher[T]) Compact() {
	lw.memory.Compact()
	lw.deliver()
}

// TruncateWatchCache discards the changes that new watches start from, as a restart of
// kube-apiserver does. A new watch at an older version gets 410. Lists at an exact resourceVersion
// and continue tokens are served as before, until Compact: etcd keeps the older states for minutes.
// Open watches that have received all changes continue.
func (lw *ListerWatcher[T]) TruncateWatchCache() {
	lw.memory.TruncateWindow()
	lw.deliver()
}

// Restore resets the collection to an older resourceVersion, as restoring etcd from a backup does.
// Later writes are undone, their versions are assigned again, and all watches are closed.
func (lw *ListerWatcher[T]) Restore(resourceVersion string) {
	version, err := history.ParseVersion(resourceVersion)
	if err == nil {
		err = lw.memory.Restore(version)
	}
	if err != nil {
		panic("fake.ListerWatcher: " + err.Error())
	}
	lw.deliver()
}

// Requests returns all calls of List and Watch so far, in order, including those that returned an
// injected error.
func (lw *ListerWatcher[T]) Requests() []Request {
	lw.mu.Lock()
	defer lw.mu.Unlock()
	return slices.Clone(lw.requests)
}

// OpenWatches returns the number of open watches.
func (lw *ListerWatcher[T]) OpenWatches() int {
	return len(lw.open())
}

// clone returns a deep copy of obj.
func clone[T Object](obj T) T {
	return obj.DeepCopyObject().(T)
}
