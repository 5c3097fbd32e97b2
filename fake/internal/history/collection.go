package history

import (
	"slices"
	"sort"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// DefaultLimit is how many changes a collection remembers if its Spec does not say.
const DefaultLimit = 4096

// Spec says what a collection holds.
type Spec struct {
	// Resource names the collection in errors.
	Resource schema.GroupResource
	// New returns an empty object of the collection's type, which becomes a bookmark.
	New func() Object
	// Fields returns what field selectors can look at. It must not keep the object's parts beyond the object's own life.
	Fields func(Object) fields.Fields
	// CheckField returns an error for a field that selectors cannot use.
	CheckField func(field string) error
	// Limit is how many changes are remembered; 0 means DefaultLimit.
	Limit int
}

// Collection holds the objects of one resource. Its fields are guarded by the memory's mu.
type Collection struct {
	memory  *Memory
	spec    Spec
	items   map[string]*Item
	log     changeLog
	changed chan struct{} // closed at the next change; nil while nobody waits
	removed bool          // the memory no longer has it: its watchers are ended

	keys   []string // the keys of items in order; nil when one was added or removed since
	sorted []*Item  // items in key order; nil after any write. Shared with readers: replaced, never changed
}

// SetLimit changes how many changes are remembered; 0 means DefaultLimit. It takes effect at the next write.
func (c *Collection) SetLimit(n int) {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	c.spec.Limit = n
}

// Get returns the current object, shared and read only.
func (c *Collection) Get(key string) (Object, bool) {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	item, ok := c.items[key]
	if !ok {
		return nil, false
	}
	return item.Object, true
}

// GetAt returns an object as it was at an older version, which the log must still reach: 410 if it does not. Shared and read only.
func (c *Collection) GetAt(key string, version uint64) (Object, bool, error) {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	if version < c.log.floor {
		return nil, false, expired(version, c.log.floor)
	}
	item := c.items[key]
	for i := len(c.log.changes) - 1; i >= 0 && c.log.changes[i].version > version; i-- {
		if keyOf(c.log.changes[i]) == key {
			item = c.log.changes[i].old
		}
	}
	if item == nil {
		return nil, false, nil
	}
	return item.Object, true, nil
}

// Try is Apply without the write, for a dry run: what would be stored has no new version.
func (c *Collection) Try(key string, change func(current Object) (Object, error)) (Object, error) {
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

// Apply is the one way to write. It calls change with the current object, nil if there is none, and stores what it returns under the next
// resourceVersion: a new object, which belongs to the memory from then on; nil to delete; the current one to leave it as it is.
// It returns what is stored, or, for a delete, the last content with the version of the delete; shared and read only, as is what change sees.
// change runs under the memory's lock: it must be quick and must not use the memory.
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

// commit stores one change and wakes the watchers. The caller holds mu.
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
		ch.deleted = newEvent("DELETED", c.departed(old, ch.version))
		return ch.deleted.Object
	}
	return next
}

// set replaces the current state of a key; nil removes it. The caller holds mu.
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

// wake tells those who wait that there is something new. The caller holds mu.
func (c *Collection) wake() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// undo takes the collection back to a version that the log still reaches. The caller holds mu.
func (c *Collection) undo(version uint64) {
	for i := len(c.log.changes) - 1; i >= 0 && c.log.changes[i].version > version; i-- {
		ch := c.log.changes[i]
		key := keyOf(ch)
		c.set(key, ch.old)
		c.log.changes[i] = nil
		c.log.changes = c.log.changes[:i]
	}
}

func keyOf(ch *change) string {
	if ch.new != nil {
		return ch.new.Key
	}
	return ch.old.Key
}

// snapshot returns the current items in key order; the slice is immutable. The caller holds mu.
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

// snapshotAt returns the items as they were at an older version that the log still reaches. The caller holds mu.
func (c *Collection) snapshotAt(version uint64) []*Item {
	then := map[string]*Item{} // what differs from now; nil: did not exist
	for i := len(c.log.changes) - 1; i >= 0 && c.log.changes[i].version > version; i-- {
		then[keyOf(c.log.changes[i])] = c.log.changes[i].old
	}
	if len(then) == 0 {
		return c.snapshot()
	}
	items := make([]*Item, 0, len(c.items)+len(then))
	for _, item := range c.snapshot() {
		if _, differs := then[item.Key]; !differs {
			items = append(items, item)
		}
	}
	for _, item := range then {
		if item != nil {
			items = append(items, item)
		}
	}
	sort.Slice(items, func(i, j int) bool { return items[i].Key < items[j].Key })
	return items
}

// seek returns the index of the first item whose key is not below the given one.
func seek(sorted []*Item, key string) int {
	return sort.Search(len(sorted), func(i int) bool { return sorted[i].Key >= key })
}

// Clear deletes all objects, in key order, each with a version and an event of its own.
func (c *Collection) Clear() {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	for _, item := range c.snapshot() {
		c.commit(item.Key, item, nil)
	}
}
