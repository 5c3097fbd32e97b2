package informer

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/store"
)

// intake is the store as the reflector sees it: it keeps out what the informer does not
// accept, and tells those who wait when the version has moved.
type intake[V any] struct {
	*store.Store[V]
	accepts  func(runtime.Object) bool // nil: everything
	identity func(V) (uid, resourceVersion string)
	versions versions

	mu sync.Mutex // guards left
	// left has the keys, and UIDs, of objects that were accepted once, are not any more,
	// and exist: deletions here and not there.
	left map[string]string
}

var _ feed.Sink = (*intake[any])(nil)

// Apply applies one watch event. An object that is not accepted is a deletion of it.
func (in *intake[V]) Apply(eventType watch.EventType, item feed.Item) feed.Outcome {
	outcome := in.apply(eventType, item)
	in.versions.moved(in.ResourceVersion)
	return outcome
}

func (in *intake[V]) apply(eventType watch.EventType, item feed.Item) feed.Outcome {
	if in.accepts == nil {
		return in.Store.Apply(eventType, item)
	}
	if eventType == watch.Deleted {
		in.leave(item, false)
		return in.Store.Apply(eventType, item)
	}
	item, accepted := in.judge(item, true)
	if accepted {
		return in.Store.Apply(eventType, item)
	}
	known := in.leave(item, true) // before a handler can hear of it
	outcome := in.Store.Apply(watch.Deleted, item)
	if outcome != feed.Applied && !known {
		in.leave(item, false)
	}
	return outcome
}

// judge tells whether an item is accepted; trust says that one in a version which the
// store holds is. It returns the item decoded, or so that it fails in the store, which
// keeps its last good state and reports it.
func (in *intake[V]) judge(item feed.Item, trust bool) (feed.Item, bool) {
	if in.accepts == nil || trust && in.Store.HasVersion(item) {
		return item, true
	}
	obj, accepted, err := in.ask(item)
	if err != nil {
		return feed.Item{Key: item.Key, UID: item.UID, ResourceVersion: item.ResourceVersion, Codec: failing{err}}, true
	}
	item.Object = obj
	return item, accepted
}

// ask calls the user's function, whose panic is an error.
func (in *intake[V]) ask(item feed.Item) (obj runtime.Object, accepted bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("filter: panic: %v", r)
		}
	}()
	if obj, err = item.Decoded(); err != nil {
		return nil, false, err
	}
	return obj, in.accepts(obj), nil
}

// failing is the codec of an object that was found to be bad.
type failing struct{ err error }

func (f failing) Decode([]byte) (runtime.Object, error) { return nil, f.err }

// Holds tells whether the collection has exactly this version of the object. It has any
// version of one that is kept out.
func (in *intake[V]) HasVersion(item feed.Item) bool {
	if in.Store.HasVersion(item) {
		return true
	}
	if in.accepts == nil || in.Snapshot().Entry(item.Key) != nil {
		return false
	}
	_, accepted := in.judge(item, true)
	return !accepted
}

// Progress moves the version without a change.
func (in *intake[V]) AdvanceVersion(resourceVersion string) {
	in.Store.AdvanceVersion(resourceVersion)
	in.versions.moved(in.ResourceVersion)
}

// Begin starts a new state of the whole collection.
func (in *intake[V]) Begin() feed.Replacement {
	return &intakeReplacement[V]{Replacement: in.Store.Begin(), in: in, left: make(map[string]string)}
}

// intakeReplacement is a state in the making, of accepted objects only.
type intakeReplacement[V any] struct {
	feed.Replacement
	in       *intake[V]
	left     map[string]string // as intake.left, as of this state
	distrust bool
}

// Distrust says that versions do not tell whether an object has changed.
func (r *intakeReplacement[V]) CompareContents() {
	r.distrust = true
	r.Replacement.CompareContents()
}

// Needs tells what is needed of an item: the object, to be looked at.
func (r *intakeReplacement[V]) Needs(item feed.Item) feed.Need {
	need := r.Replacement.Needs(item)
	if need != feed.NeedsIdentity && r.in.accepts != nil {
		return feed.NeedsObject
	}
	return need
}

// Add puts an item into the new state if it is accepted.
func (r *intakeReplacement[V]) Add(item feed.Item) {
	delete(r.left, item.Key)
	item, accepted := r.in.judge(item, !r.distrust)
	if accepted {
		r.Replacement.Add(item)
		return
	}
	if r.in.hasLeft(item.Key, item.UID) || r.in.Snapshot().Entry(item.Key) != nil {
		r.left[item.Key] = item.UID
	}
	r.Replacement.Remove(item) // an earlier state may have been accepted
}

// Remove takes an object out of the new state.
func (r *intakeReplacement[V]) Remove(item feed.Item) {
	delete(r.left, item.Key)
	r.Replacement.Remove(item)
}

// Commit makes the new state the collection's.
func (r *intakeReplacement[V]) Commit(resourceVersion string) error {
	r.in.mu.Lock()
	r.in.left = r.left
	r.in.mu.Unlock()
	err := r.Replacement.Commit(resourceVersion)
	r.in.versions.moved(r.in.ResourceVersion)
	return err
}

// leave notes whether an object has left, and tells what was noted before.
func (in *intake[V]) leave(item feed.Item, has bool) (had bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	_, had = in.left[item.Key]
	switch {
	case !has:
		delete(in.left, item.Key)
	case in.left == nil:
		in.left = map[string]string{item.Key: item.UID}
	default:
		in.left[item.Key] = item.UID
	}
	return had
}

func (in *intake[V]) hasLeft(key, uid string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	left, ok := in.left[key]
	return ok && left == uid
}

// departed tells whether an object that is a deletion here exists there.
func (in *intake[V]) departed(key string, value V) bool {
	if in.accepts == nil {
		return false
	}
	uid, _ := in.identity(value)
	return in.hasLeft(key, uid)
}
