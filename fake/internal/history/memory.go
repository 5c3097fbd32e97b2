package history

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
)

// Memory is everything that one fake server knows. Its collections share one resourceVersion, as those of a real server do.
type Memory struct {
	mu          sync.Mutex // guards everything below and every field of the collections
	version     uint64     // of the last write, of whatever collection
	epoch       int        // counts Restores: watchers of an older epoch are ended
	bookmarks   int        // counts Bookmarks: each watcher owes one per count
	collections []*Collection

	uids atomic.Uint64
}

// NewMemory returns an empty memory. Versions start at 1, since "0" means "any" to the list and watch protocol.
func NewMemory() *Memory {
	return &Memory{version: 1}
}

// Collection adds a collection to the memory. Each call makes a new one.
func (m *Memory) Collection(spec Spec) *Collection {
	c := &Collection{memory: m, spec: spec, items: map[string]*Item{}}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.collections = append(m.collections, c)
	return c
}

// Remove forgets a collection, and ends its watchers. Nobody may write to it any more.
func (m *Memory) Remove(c *Collection) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.collections = slices.DeleteFunc(m.collections, func(other *Collection) bool { return other == c })
	c.removed = true
	c.wake()
}

// Version returns the version of the last write.
func (m *Memory) Version() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.version
}

// SkipVersions uses up n versions, as writes to collections that nobody watches do on a real server.
func (m *Memory) SkipVersions(n uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.version += n
}

// NewUID returns an identity never returned before by this memory, in the form of a UUID. It is a count and no random number, so that
// the same test makes the same objects.
func (m *Memory) NewUID() types.UID {
	return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", m.uids.Add(1)))
}

// Bookmark makes every open watcher that allows bookmarks send one, after all that it has still to send.
func (m *Memory) Bookmark() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bookmarks++
	m.wakeAll()
}

// Compact forgets all changes up to now: a watch, an exact list or a continue token at an older version is answered with 410,
// and so is a watcher that has not yet taken the changes that were forgotten.
func (m *Memory) Compact() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.collections {
		c.log.forget(len(c.log.changes))
		c.log.floor = m.version
	}
	m.wakeAll()
}

// Restore takes the memory back to what it was at an older version, as an etcd restored from a backup does: later writes have never
// happened and their versions are given out again. All watchers are ended, as by the restart that a restore needs.
// It fails if a collection no longer remembers that version.
func (m *Memory) Restore(version uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if version > m.version {
		return fmt.Errorf("cannot restore version %d: the newest is %d", version, m.version)
	}
	for _, c := range m.collections {
		if version < c.log.floor {
			return fmt.Errorf("cannot restore version %d: %s remembers nothing older than %d", version, c.spec.Resource, c.log.floor)
		}
	}
	for _, c := range m.collections {
		c.undo(version)
	}
	m.version = version
	m.epoch++
	m.wakeAll()
	return nil
}

// Items returns the number of objects in all collections.
func (m *Memory) Items() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, c := range m.collections {
		n += len(c.items)
	}
	return n
}

// wakeAll wakes whoever waits for a change of any collection. The caller holds mu.
func (m *Memory) wakeAll() {
	for _, c := range m.collections {
		c.wake()
	}
}
