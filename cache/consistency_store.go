// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/scoped"
)

// ConsistencyStore keeps a controller from acting on a cache that lacks the controller's own
// writes. The controller notes each write under the key that it reconciles, and asks before it
// reads the cache for that key again:
//
//	writes := cache.NewConsistencyStore(queue.Add)
//
//	if err := writes.EnsureReady(key); err != nil {
//		return nil // the queue gets the key once the cache has the writes
//	}
//	pod, err := client.Create(ctx, pod, metav1.CreateOptions{})
//	writes.WroteAt(key, pods, pod) // if err is nil
//
// K is the type of the keys, such as string or types.NamespacedName. The objects may be of any
// number of informers: of this package, and of package clientgo by clientgo.ControllerOf. Other
// keys are not delayed. An object that was recreated under the key of a deleted one waits for what
// was written for that one.
//
// The store knows the writes of its own process. It does not know a write whose response was lost:
// a controller must find such an object by its name, or read it from the API server. A write that
// cannot be waited for, because its version is no decimal number or the informer is invalid, is not
// noted; the first one is logged. For an informer that has stopped or whose resource is not served,
// EnsureReady does not wait.
//
// If an informer has been up to date for five minutes without a write, a restore of etcd has undone
// the write: it is logged, and no longer waited for. Memory is bounded by the writes that informers
// have not received, whether or not EnsureReady is called for their keys. The methods are safe for
// concurrent use.
type ConsistencyStore[K comparable] struct {
	requeue func(key K)
	refused sync.Once // logs the first write that cannot be waited for

	mu      sync.Mutex // guards the fields below, and may be held while locks of informers are taken
	pending map[K]*pendingWrites
	size    int // number of writes
	pruneAt int // size at which the writes that have been received are removed
}

// pendingWrites are the writes of a key that an informer may not have received.
type pendingWrites struct {
	writes  map[writeID]*ownWrite
	waiting bool // a goroutine calls requeue
}

// writeID identifies writes of which only the last one is waited for. The versions of an informer
// without Scopes are in one order: all of its writes have an empty key and UID, except deletions.
type writeID struct {
	engine   *informer.Informer
	key, uid string
}

// ownWrite is a write that an informer may not have received. It is not changed.
type ownWrite struct {
	core    *core
	obj     *metav1.PartialObjectMetadata // namespace, name, UID, and the version if it is valid
	deleted bool
	noted   time.Time // by the informer's clock
}

// singleInformer is a *SharedInformer or a *Controller.
type singleInformer interface {
	Views() []View
	hasStopped() bool
}

const (
	// minPruneSize is how many writes a ConsistencyStore has before it removes some.
	minPruneSize = 1000
	// undoneAfter is how long an informer must have been up to date without a write before the
	// write is taken to be undone. A server's watch cache may be late.
	undoneAfter = 5 * time.Minute
	// undoneCheckPeriod is how often that is checked for a key that waits.
	undoneCheckPeriod = time.Minute
)

var errNotReceived = errors.New("an own write has not been received")

// NewConsistencyStore returns an empty store. It calls requeue, such as the Add method of a work
// queue, in a goroutine of its own, once for each key for which EnsureReady has returned an error
// when the key is ready.
func NewConsistencyStore[K comparable](requeue func(key K)) *ConsistencyStore[K] {
	return &ConsistencyStore[K]{requeue: requeue, pending: make(map[K]*pendingWrites), pruneAt: minPruneSize}
}

// WroteAt notes a write of an object of the informer under a key: a create, update, patch or apply,
// also of a subresource. The object is the one that the write returned, of any type that has its
// metadata. It is received when the informer has reached its resourceVersion, by an event, a
// bookmark or a list, whether or not the informer still selects the object. An update that removes
// the last finalizer of a terminating object is not waited for: the response has the version before
// it.
//
// An informer receives no event of an object that its selectors have never matched, but a bookmark
// about a minute later. Such a write need not be noted.
func (s *ConsistencyStore[K]) WroteAt(key K, informer singleInformer, obj Object) {
	s.note(key, informer, obj, false)
}

// Deleted notes that an object of the informer was deleted under a key. The object is the one that
// was deleted, as it was read from the informer or returned by an earlier write: the response to a
// deletion has no version. The deletion is received when the informer holds no object of its name
// and UID, or holds it with a deletionTimestamp.
func (s *ConsistencyStore[K]) Deleted(key K, informer singleInformer, obj Object) {
	s.note(key, informer, obj, true)
}

// EnsureReady returns nil if the informers have received all writes of the key. Otherwise it
// returns an error that names an informer and the versions, and the store calls requeue when it
// would return nil. A caller need not retry. While a key is processed, its writes must be noted
// before EnsureReady is called for it again.
func (s *ConsistencyStore[K]) EnsureReady(key K) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.prune(key, false)
	if err == nil {
		return nil
	}
	if pending := s.pending[key]; !pending.waiting {
		pending.waiting = true
		go s.requeueWhenReady(key)
	}
	return err
}

func (s *ConsistencyStore[K]) requeueWhenReady(key K) {
	for write := s.firstOf(key); write != nil; write = s.firstOf(key) {
		ctx, cancel := context.WithTimeoutCause(context.Background(), undoneCheckPeriod, errNotReceived)
		_ = write.wait(ctx) // firstOf looks again
		cancel()
	}
	s.requeue(key)
}

// firstOf returns a write of a key that has not been received, or nil.
func (s *ConsistencyStore[K]) firstOf(key K) *ownWrite {
	s.mu.Lock()
	defer s.mu.Unlock()
	write, _ := s.prune(key, false)
	return write
}

func (s *ConsistencyStore[K]) note(key K, informer singleInformer, obj Object, deleted bool) {
	id, write, err := newOwnWrite(informer.Views()[0].core, obj, deleted)
	if err != nil {
		s.refused.Do(func() {
			write.core.report.named(context.Background()).Error(err, "Cannot wait for an own write", "key", key)
		})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	pending := s.pending[key]
	if pending == nil {
		pending = &pendingWrites{writes: make(map[writeID]*ownWrite)}
		s.pending[key] = pending
	}
	earlier := pending.writes[id]
	if earlier == nil {
		s.size++
	} else if !earlier.isBefore(write) {
		return
	}
	pending.writes[id] = write
	if s.size >= s.pruneAt {
		for key := range s.pending {
			_, _ = s.prune(key, true)
		}
		s.pruneAt = max(minPruneSize, 2*s.size)
	}
}

// prune removes writes of a key that are not waited for: all, or until it finds one that is. It
// returns one that is, and why. mu is held.
func (s *ConsistencyStore[K]) prune(key K, all bool) (waitsFor *ownWrite, why error) {
	pending := s.pending[key]
	if pending == nil {
		return nil, nil
	}
	for id, write := range pending.writes {
		if err := write.check(); err == nil {
			delete(pending.writes, id)
			s.size--
		} else if waitsFor, why = write, err; !all {
			break
		}
	}
	if waitsFor == nil {
		delete(s.pending, key)
	}
	return waitsFor, why
}

// newOwnWrite returns a write of an object, or an error if it cannot be waited for. The write has
// its informer in either case.
func newOwnWrite(c *core, obj Object, deleted bool) (writeID, *ownWrite, error) {
	write := &ownWrite{core: c, deleted: deleted, noted: c.clock.Now()}
	if c.invalid != nil {
		return writeID{}, write, c.invalid
	}
	if _, err := MetaNamespaceKeyFunc(obj); err != nil {
		return writeID{}, write, fmt.Errorf("%s: %w", c.report.name, err)
	}
	write.obj = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(),
	}}
	if err := scoped.CheckVersion(c.report.name, obj.GetResourceVersion()); err != nil {
		if !deleted {
			return writeID{}, write, err
		}
		write.obj.ResourceVersion = ""
	}
	id := writeID{engine: c.engine}
	if deleted || c.scopes != nil {
		id.key, id.uid = codec.Key(obj), string(obj.GetUID())
	}
	return id, write, nil
}

// isBefore reports whether a wait for other makes one for w unnecessary. Both have the same
// writeID. An update of a deleted object, such as that of its finalizers, is no later deletion.
func (w *ownWrite) isBefore(other *ownWrite) bool {
	if w.deleted != other.deleted {
		return other.deleted
	}
	return !feed.Reaches(w.obj.ResourceVersion, other.obj.ResourceVersion)
}

// check returns an error if the write has not been received, and may still be.
func (w *ownWrite) check() error {
	if w.core.hasStopped() {
		return nil
	}
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(errNotReceived) // so that the wait returns at once
	err := w.wait(ended)
	if !errors.Is(err, errNotReceived) { // nil, or the resource is not served
		return nil
	}
	if w.isUndone() {
		w.core.report.named(context.Background()).Error(err, "Giving up an own write, which a restore of etcd may have undone", "object", codec.Key(w.obj), "deleted", w.deleted)
		return nil
	}
	return err
}

// isUndone reports whether the informer was up to date long enough after the write, which it has
// not received, that it never will.
func (w *ownWrite) isUndone() bool {
	limit := w.noted.Add(undoneAfter)
	return w.core.clock.Now().After(limit) && w.core.status().Freshness.FreshAt.After(limit)
}

// wait blocks until the informer has received the write.
func (w *ownWrite) wait(ctx context.Context) error {
	if w.obj.ResourceVersion != "" {
		if err := w.core.waitForVersionOf(ctx, w.obj, covers(w.obj)); err != nil {
			return err
		}
	}
	if !w.deleted {
		return nil
	}
	return w.core.engine.WaitForTermination(ctx, codec.Key(w.obj), string(w.obj.GetUID()))
}
