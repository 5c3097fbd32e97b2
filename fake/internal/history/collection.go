// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"sort"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// DefaultLimit is the maximum number of changes in a collection's log if its Spec sets no limit.
const DefaultLimit = 4096

// Spec describes a collection.
type Spec struct {
	// Resource names the collection in errors.
	Resource schema.GroupResource
	// New returns an empty object of the collection's type, for bookmarks.
	New func() Object
	// Fields returns the fields that field selectors read.
	Fields func(Object) fields.Fields
	// CheckField returns an error for a field that selectors do not support.
	CheckField func(field string) error
	// Limit is the maximum number of changes in the log; 0 means DefaultLimit.
	Limit int
}

// Collection holds the objects of one resource. The memory's mu guards its fields.
type Collection struct {
	memory  *Memory
	spec    Spec
	items   map[string]*Item
	log     changeLog
	changed chan struct{} // closed by the next change; nil while no watcher waits
	removed bool          // set by Memory.Remove; ends the watchers

	keys   []string // sorted keys of items; nil after a key was added or removed
	sorted []*Item  // items sorted by key; nil after a write; shared, so never modified
}

// SetLimit sets the maximum number of changes in the log; 0 means DefaultLimit. It takes effect at
// the next write.
func (c *Collection) SetLimit(n int) {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	c.spec.Limit = n
}

// Get returns the current object with the key. The object is shared and must not be modified.
func (c *Collection) Get(key string) (Object, bool) {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	item, ok := c.items[key]
	if !ok {
		return nil, false
	}
	return item.Object, true
}

// Seed adds an object at the current version, as if it had been created before the log begins. It
// must be called before the first write.
func (c *Collection) Seed(key string, obj Object) {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	c.set(key, c.newItem(key, c.memory.version, obj))
}

// Len returns the number of current objects.
func (c *Collection) Len() int {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	return len(c.items)
}

// GetAt is like Get from a replica. The error is 410 Expired if the log does not reach back to the
// replica's version.
func (c *Collection) GetAt(key string, replica Replica) (Object, bool, error) {
	if replica == 0 {
		obj, ok := c.Get(key)
		return obj, ok, nil
	}
	version := uint64(replica)
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	if version < c.log.floor {
		return nil, false, expired(version, c.log.floor)
	}
	item := c.items[key]
	for i := len(c.log.changes) - 1; i >= 0 && c.log.changes[i].version > version; i-- {
		if keyOfChange(c.log.changes[i]) == key {
			item = c.log.changes[i].old
		}
	}
	if item == nil {
		return nil, false, nil
	}
	return item.Object, true, nil
}

// DryRun is like Apply but does not write. The returned object has no new resourceVersion.
func (c *Collection) DryRun(key string, change func(current Object) (Object, error)) (Object, error) {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	current := Object(nil)
	if item := c.items[key]; item != nil {
		current = item.Object
	}
	next, err := change(current)
	if err == nil && next == nil {
		next = current
	}
	return next, err
}

// Apply creates, updates or deletes the object with the key. It calls change with the current
// object, nil if there is none, and stores the returned object under the next resourceVersion. If
// change returns nil the object is deleted, and if it returns the current object nothing is
// written.
//
// Apply returns the stored object or, for a delete, the last content with the version of the
// delete. That object and the argument of change are shared and must not be modified. The object
// returned by change must not be used afterwards.
//
// change is called with the memory's lock held: it must be fast and must not use the memory.
func (c *Collection) Apply(key string, change func(current Object) (Object, error)) (Object, error) {
	m := c.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	current, old := Object(nil), c.items[key]
	if old != nil {
		current = old.Object
	}
	next, err := change(current)
	if err != nil {
		return nil, err
	}
	if next == current {
		return current, nil
	}
	return c.commit(key, old, next), nil
}

// commit stores one change and wakes the watchers. The caller must hold mu.
func (c *Collection) commit(key string, old *Item, next Object) Object {
	c.memory.version++
	ch := &change{version: c.memory.version, old: old}
	if next != nil {
		ch.new = c.newItem(key, ch.version, next)
	}
	c.set(key, ch.new)
	c.log.append(ch, c.limit())
	c.wake()
	if next == nil {
		ch.deleted = newEvent("DELETED", c.deletedItem(old, ch.version))
		return ch.deleted.Object
	}
	return next
}

// set replaces the item of a key; nil removes it. The caller must hold mu.
func (c *Collection) set(key string, item *Item) {
	before := len(c.items)
	if item == nil {
		delete(c.items, key)
	} else {
		c.items[key] = item
	}
	if len(c.items) != before {
		c.keys = nil
	}
	c.sorted = nil
}

func (c *Collection) limit() int {
	if c.spec.Limit > 0 {
		return c.spec.Limit
	}
	return DefaultLimit
}

// wake wakes the waiting watchers. The caller must hold mu.
func (c *Collection) wake() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// undo resets the collection to a version that its log covers. The caller must hold mu.
func (c *Collection) undo(version uint64) {
	c.log.undo(version, func(ch *change) { c.set(keyOfChange(ch), ch.old) })
}

func keyOfChange(ch *change) string {
	if ch.new != nil {
		return ch.new.Key
	}
	return ch.old.Key
}

// All returns the current items sorted by key. The slice must not be modified.
func (c *Collection) All() []*Item {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	return c.snapshot()
}

// snapshot returns the current items sorted by key. The slice must not be modified. The caller must
// hold mu.
func (c *Collection) snapshot() []*Item {
	if c.sorted != nil {
		return c.sorted
	}
	if c.keys == nil {
		c.keys = make([]string, 0, len(c.items))
		for key := range c.items {
			c.keys = append(c.keys, key)
		}
		slices.Sort(c.keys)
	}
	c.sorted = make([]*Item, len(c.keys))
	for i, key := range c.keys {
		c.sorted[i] = c.items[key]
	}
	return c.sorted
}

// snapshotAt returns the items of an older version that the log covers, sorted by key. The caller
// must hold mu.
func (c *Collection) snapshotAt(version uint64) []*Item {
	older := map[string]*Item{} // items that differ from the current ones; nil if absent then
	for i := len(c.log.changes) - 1; i >= 0 && c.log.changes[i].version > version; i-- {
		older[keyOfChange(c.log.changes[i])] = c.log.changes[i].old
	}
	if len(older) == 0 {
		return c.snapshot()
	}
	items := make([]*Item, 0, len(c.items)+len(older))
	for _, item := range c.snapshot() {
		if _, differs := older[item.Key]; !differs {
			items = append(items, item)
		}
	}
	for _, item := range older {
		if item != nil {
			items = append(items, item)
		}
	}
	sort.Slice(items, func(i, j int) bool { return items[i].Key < items[j].Key })
	return items
}

// seek returns the index of the first item whose key is at or after the given key.
func seek(sorted []*Item, key string) int {
	return sort.Search(len(sorted), func(i int) bool { return sorted[i].Key >= key })
}

// Clear deletes all objects in key order. Each delete has its own resourceVersion and event.
func (c *Collection) Clear() {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	for _, item := range c.snapshot() {
		c.commit(item.Key, item, nil)
	}
}
