package fake

import (
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/fake/internal/fieldset"
	"github.com/kinformer/kinformer/fake/internal/history"
)

// Object is any type with metadata: generated types, *unstructured.Unstructured and *metav1.PartialObjectMetadata.
type Object interface {
	runtime.Object
	metav1.Object
}

// ListerWatcher is the server's side of one collection, for unit tests. Its methods List and Watch are for what is tested; all others are for
// the test, which plays the server's other clients (Create, Update, Delete), its operator (Compact, Restore) and its bad luck (Fault...).
//
// It answers as a real server does: pages that stay at their first page's version, exact and not-older-than lists, label and field selectors,
// watches that replay the history or answer 410 when it is forgotten, bookmarks, WatchList, TimeoutSeconds.
//
// What a write changes has reached every watch's channel when the write returns, up to a hundred events ahead of the reader. No object is ever
// shared: what goes in and what comes out are copies. All methods may be called from any goroutine.
//
// A test's own mistakes (creating what exists, updating or deleting what does not, an object without a name) panic.
type ListerWatcher[T Object] struct {
	memory  *history.Memory
	objects *history.Collection
	newList func([]*history.Item, metav1.ListMeta) (runtime.Object, error)

	mu             sync.Mutex // guards everything below
	requests       []Request
	listFaults     faults
	watchFaults    faults
	streams        []*stream     // open watches, oldest first
	bookmarkPeriod time.Duration // of watches opened from now on; 0: none
}

// Request is one call of List or Watch.
type Request struct {
	Verb    string // "list" or "watch"
	Options metav1.ListOptions
	Time    time.Time // on the bubble's clock inside one
}

// NewListerWatcher returns an empty collection of the example's type. An unstructured example or one with metadata only must have its kind and
// apiVersion set. The example is copied.
func NewListerWatcher[T Object](example T) *ListerWatcher[T] {
	blank := blankOf(example)
	memory := history.NewMemory()
	return &ListerWatcher[T]{
		memory:  memory,
		newList: listOf(blank),
		objects: memory.Collection(history.Spec{
			Resource:   resourceOf(blank),
			New:        func() history.Object { return blank.DeepCopyObject().(history.Object) },
			Fields:     func(obj history.Object) fields.Fields { return fieldset.Of(obj) },
			CheckField: func(field string) error { return fieldset.Check(blank, field) },
		}),
	}
}

// Create stores a copy of obj and returns another, with resourceVersion, UID and creationTimestamp. A UID or timestamp that obj has is kept.
// Without a name it is named after its generateName.
func (lw *ListerWatcher[T]) Create(obj T) T {
	obj = clone(obj)
	lw.identify(obj)
	return lw.apply(history.KeyOf(obj), func(current history.Object) (history.Object, error) {
		if current != nil {
			return nil, fmt.Errorf("cannot create %q: it exists", history.KeyOf(obj))
		}
		return obj, nil
	})
}

// identify gives a new object what the server gives it.
func (lw *ListerWatcher[T]) identify(obj T) {
	uid := lw.memory.NewUID()
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		obj.SetName(obj.GetGenerateName() + string(uid[len(uid)-5:]))
	}
	if obj.GetName() == "" {
		panic(fmt.Sprintf("fake.ListerWatcher: cannot create a %T without a name", obj))
	}
	if obj.GetUID() == "" {
		obj.SetUID(uid)
	}
	if stamp := obj.GetCreationTimestamp(); stamp.IsZero() {
		obj.SetCreationTimestamp(metav1.Unix(time.Now().Unix(), 0))
	}
}

// Update replaces a stored object by a copy of obj, whatever obj's resourceVersion is, and returns another copy, with the new version. UID and
// creationTimestamp stay those of the stored object. An update that changes nothing is a write like any other here.
func (lw *ListerWatcher[T]) Update(obj T) T {
	obj = clone(obj)
	return lw.apply(history.KeyOf(obj), func(current history.Object) (history.Object, error) {
		if current == nil {
			return nil, fmt.Errorf("cannot update %q: it does not exist", history.KeyOf(obj))
		}
		obj.SetUID(current.GetUID())
		obj.SetCreationTimestamp(current.GetCreationTimestamp())
		return obj, nil
	})
}

// Delete removes the object with this key (namespace/name, or name) and returns its last content with the version of the delete.
func (lw *ListerWatcher[T]) Delete(key string) T {
	return lw.apply(key, func(current history.Object) (history.Object, error) {
		if current == nil {
			return nil, fmt.Errorf("cannot delete %q: it does not exist", key)
		}
		return nil, nil
	})
}

// apply writes and delivers; an error is the test's mistake.
func (lw *ListerWatcher[T]) apply(key string, change func(history.Object) (history.Object, error)) T {
	stored, err := lw.objects.Apply(key, change)
	if err != nil {
		panic("fake.ListerWatcher: " + err.Error())
	}
	lw.deliver()
	return clone(stored.(T))
}

// Get returns a copy of the stored object with this key.
func (lw *ListerWatcher[T]) Get(key string) (T, bool) {
	obj, ok := lw.objects.Get(key)
	if !ok {
		var none T
		return none, false
	}
	return clone(obj.(T)), true
}

// ResourceVersion returns the version of the last write.
func (lw *ListerWatcher[T]) ResourceVersion() string {
	return history.FormatVersion(lw.memory.Version())
}

// SkipVersions uses up n versions, as writes to other collections do.
func (lw *ListerWatcher[T]) SkipVersions(n uint64) {
	lw.memory.SkipVersions(n)
}

// LimitHistory sets how many changes are remembered, 4,096 if it is never called. It takes effect at the next write.
func (lw *ListerWatcher[T]) LimitHistory(changes int) {
	lw.objects.SetLimit(changes)
}

// Compact forgets all changes up to now: a watch or an exact list at an older version gets 410, a continue token too. Watches that
// have kept up go on.
func (lw *ListerWatcher[T]) Compact() {
	lw.memory.Compact()
	lw.deliver()
}

// Restore takes the collection back to an older version, as an etcd restored from a backup does: what was written since has never happened, its
// versions are given out again, and all watches are closed. It panics if the history does not reach back to that version.
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

// Requests returns all calls of List and Watch so far, in order, those too that a fault has answered.
func (lw *ListerWatcher[T]) Requests() []Request {
	lw.mu.Lock()
	defer lw.mu.Unlock()
	return slices.Clone(lw.requests)
}

// OpenWatches returns the number of watches that are neither closed nor stopped.
func (lw *ListerWatcher[T]) OpenWatches() int {
	return len(lw.open())
}

// clone copies an object without losing its type.
func clone[T Object](obj T) T {
	return obj.DeepCopyObject().(T)
}
