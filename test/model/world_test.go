// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"maps"
	"slices"
	"strconv"
)

// state is one state of an object on the server. A deletion is the last state of its object, with
// the version of the deletion.
type state struct {
	key, uid string
	version  uint64
	value    int    // unique among all writes: after a restore, another state may have the version
	bad      string // which function fails for the state; see badStates
	deleted  bool
}

// epoch is the history of a collection between two restores of the server. It begins with that of
// the previous epoch up to the restored version.
type epoch struct {
	log     []state          // in the order of the versions
	now     map[string]state // the objects at head
	created map[uint64]bool  // the versions of log that are additions
	head    uint64           // the version of the collection
	compact uint64           // changes up to this version cannot be watched any more
}

// world is the history of a collection. The last epoch is the present.
type world struct {
	epochs  []*epoch
	known   map[state]bool // the states of all epochs; see knows
	start   uint64         // the version before the first write
	writes  int
	sameUID bool // objects keep their UID when they are recreated
	// ceiling limits the versions of the present epoch until the informer has noticed a restore, if
	// it cannot notice one whose versions pass its own.
	ceiling uint64
}

func newWorld(version uint64) *world {
	return &world{start: version, known: make(map[state]bool), epochs: []*epoch{newEpoch(nil, version, version)}}
}

// newEpoch returns an epoch with a history, and the versions to which it extends and is compacted.
func newEpoch(log []state, head, compact uint64) *epoch {
	e := &epoch{head: head, compact: compact, now: make(map[string]state), created: make(map[uint64]bool)}
	for _, s := range log {
		e.add(s)
	}
	return e
}

// add adds a change at the end of the history.
func (e *epoch) add(s state) {
	_, existed := e.now[s.key]
	e.log = append(e.log, s)
	if s.deleted {
		delete(e.now, s.key)
		return
	}
	e.now[s.key], e.created[s.version] = s, !existed
}

func (w *world) present() *epoch { return w.epochs[len(w.epochs)-1] }

// at returns the objects at a version. The caller must not change them.
func (e *epoch) at(version uint64) map[string]state {
	if version >= e.head {
		return e.now
	}
	objects := make(map[string]state)
	for _, s := range e.since(0) {
		if s.version > version {
			break
		}
		if s.deleted {
			delete(objects, s.key)
		} else {
			objects[s.key] = s
		}
	}
	return objects
}

// since returns the changes after a version.
func (e *epoch) since(version uint64) []state {
	i, _ := slices.BinarySearchFunc(e.log, version+1, func(s state, v uint64) int {
		if s.version < v {
			return -1
		}
		return 1
	})
	return e.log[i:]
}

// skip advances the version by n, as writes to other collections do. It reports false, and does
// nothing, if that would exceed the ceiling.
func (w *world) skip(n uint64) bool {
	e := w.present()
	if w.ceiling != 0 && e.head+n >= w.ceiling {
		return false
	}
	e.head += n
	return true
}

// put creates or updates an object, at a version that is higher by gap.
func (w *world) put(key, bad string, gap uint64) bool {
	old, exists := w.present().at(w.present().head)[key]
	if !w.skip(gap) {
		return false
	}
	w.writes++
	s := state{key: key, uid: old.uid, version: w.present().head, value: w.writes, bad: bad}
	switch {
	case w.sameUID:
		s.uid = "uid-" + key
	case !exists:
		s.uid = "uid-" + strconv.Itoa(w.writes)
	}
	w.add(s)
	return true
}

func (w *world) add(s state) {
	w.present().add(s)
	w.known[identityOf(s)] = true
}

// remove deletes an object, if it exists.
func (w *world) remove(key string, gap uint64) bool {
	s, exists := w.present().at(w.present().head)[key]
	if !exists || !w.skip(gap) {
		return false
	}
	s.version, s.deleted = w.present().head, true
	w.add(s)
	return true
}

func (w *world) compactAll() { w.present().compact = w.present().head }

// restore begins an epoch at the version before the last n changes, and returns the lost ones. The
// informer is at version reached.
func (w *world) restore(n int, reached uint64) (lost []state) {
	old := w.present()
	kept := max(0, len(old.log)-n)
	version := w.start
	if kept > 0 {
		version = old.log[kept-1].version
	}
	w.epochs = append(w.epochs, newEpoch(old.log[:kept], version, min(version, old.compact)))
	w.ceiling = 0
	if reached > version {
		w.ceiling = reached
	}
	return old.log[kept:]
}

// maxPattern is the number of lost changes in whose place a pattern says what is written.
const maxPattern = 8

// overtake writes to a restored collection until its version is past the one that was reached. In
// the place of each lost change, with its version, there is another state of the object, or one of
// another object, or nothing, as two bits of the pattern say.
func (w *world) overtake(lost []state, reached uint64, pattern int) {
	w.ceiling = 0
	for i, s := range lost[:min(len(lost), maxPattern)] {
		key := s.key
		switch pattern >> (2 * i) & 3 {
		case 0, 1:
		case 2:
			key = keys[i%len(keys)]
		default:
			continue
		}
		w.put(key, "", s.version-w.present().head)
	}
	if head := w.present().head; head <= reached {
		w.skip(reached - head)
	}
	if pattern&1 == 0 {
		w.put(keys[pattern%len(keys)], "", 1)
	} else {
		w.skip(1)
	}
}

// knows reports whether a state, or a deletion with its content, is in the history of any epoch.
func (w *world) knows(s state) bool { return w.known[identityOf(s)] }

// identityOf returns what a Pod of a state has of it, however it is delivered.
func identityOf(s state) state {
	s.bad, s.deleted = "", false
	return s
}

// hasKept reports whether a state, or a later one of its key, cannot be stored.
func (w *world) hasKept(s state) bool {
	return slices.ContainsFunc(w.epochs, func(e *epoch) bool {
		return slices.ContainsFunc(e.log, func(later state) bool {
			return later.key == s.key && later.version >= s.version && later.isKept()
		})
	})
}

// refused reports whether the filter refuses a state of an object.
func (w *world) refused(uid string) bool {
	return slices.ContainsFunc(w.epochs, func(e *epoch) bool {
		return slices.ContainsFunc(e.log, func(s state) bool { return s.uid == uid && s.bad == badRefused })
	})
}

// hasDeleted reports whether an object was deleted.
func (w *world) hasDeleted(uid string) bool {
	return slices.ContainsFunc(w.epochs, func(e *epoch) bool {
		return slices.ContainsFunc(e.log, func(s state) bool { return s.uid == uid && s.deleted })
	})
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
