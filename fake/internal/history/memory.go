// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
)

// Memory is the storage of one fake server. Its collections share one sequence of resourceVersions,
// as those of a real server do.
type Memory struct {
	mu          sync.Mutex // guards the fields below and all fields of the collections
	version     uint64     // of the last write to any collection
	epoch       int        // number of calls of Restore; each one ends the watchers opened before
	bookmarks   int        // number of calls of Bookmark; each watcher sends one for each
	collections []*Collection

	uids     atomic.Uint64
	sharding atomic.Bool // the gate of shard selectors
}

// NewMemory returns an empty memory. Its first version is 1, since "0" means any version in list
// and watch requests.
func NewMemory() *Memory {
	return &Memory{version: 1}
}

// Collection adds a new, empty collection to the memory.
func (m *Memory) Collection(spec Spec) *Collection {
	c := &Collection{memory: m, spec: spec, items: map[string]*Item{}}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.collections = append(m.collections, c)
	return c
}

// Remove removes a collection and ends its watchers. The collection must not be written to
// afterwards.
func (m *Memory) Remove(c *Collection) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.collections = slices.DeleteFunc(m.collections, func(other *Collection) bool { return other == c })
	c.removed = true
	c.wake()
}

// Version returns the resourceVersion of the last write.
func (m *Memory) Version() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.version
}

// SetSharding makes the requests that follow apply their shard selector, or ignore it. Open watches
// go on as they began.
func (m *Memory) SetSharding(enabled bool) {
	m.sharding.Store(enabled)
}

// SkipVersions advances the resourceVersion by n without a write to any collection, as writes to
// other resources do on a real server.
func (m *Memory) SkipVersions(n uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.version += n
}

// NewUID returns a new unique UID in the form of a UUID. UIDs are a sequence rather than random, so
// that tests are reproducible. Their first digits differ as random ones do, so that their hashes
// are spread over the ranges of shard selectors.
func (m *Memory) NewUID() types.UID {
	n := m.uids.Add(1)
	mixed := mix(n)
	return types.UID(fmt.Sprintf("%08x-%04x-4%03x-8000-%012x", mixed>>32, mixed>>16&0xffff, mixed&0xfff, n))
}

// mix returns a number of which each bit depends on all bits of n: the output function of the
// SplitMix64 generator.
func mix(n uint64) uint64 {
	n *= 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// Bookmark makes every open watcher that allows bookmarks send one after its outstanding events.
func (m *Memory) Bookmark() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bookmarks++
	m.wakeAll()
}

// Compact drops all changes up to now. A watch, an exact list or a continue token at an older
// version is then answered with 410 Expired, and so is an open watcher that has not read the
// dropped changes.
func (m *Memory) Compact() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.collections {
		c.log.compact(m.version)
	}
	m.wakeAll()
}

// TruncateWindow hides all changes up to now from watches. A watch at an older version is then
// answered with 410 Expired, and so is an open watcher that has not read the hidden changes. Lists
// and continue tokens at an older version are answered as before.
func (m *Memory) TruncateWindow() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.collections {
		c.log.truncateWindow(m.version)
	}
	m.wakeAll()
}

// Restore resets the memory to an older version, as restoring etcd from a backup does. Later writes
// are undone and their resourceVersions are assigned again. All watchers are ended, as by the
// server restart that a restore requires. It returns an error if the log of a collection does not
// reach back to the version.
func (m *Memory) Restore(version uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if version > m.version {
		return fmt.Errorf("restore resourceVersion %d: newest is %d", version, m.version)
	}
	for _, c := range m.collections {
		if version < c.log.floor {
			return fmt.Errorf("restore resourceVersion %d: oldest of %s is %d", version, c.spec.Resource, c.log.floor)
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

// wakeAll wakes the watchers of all collections. The caller must hold mu.
func (m *Memory) wakeAll() {
	for _, c := range m.collections {
		c.wake()
	}
}
