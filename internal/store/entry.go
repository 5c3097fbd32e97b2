// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"hash/maphash"
	"strconv"
	"sync/atomic"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/snapmap"
)

// Entry is one object of a collection. It is immutable. The map stores the valueRef as the value
// and the entryMeta beside it.
type Entry struct {
	ref *valueRef
	entryMeta
}

// entryMeta is what an entry records besides its value.
type entryMeta struct {
	shared *sharedMeta // nil if there are no indexes, and the origin is zero
	shortIdentity
}

// mapItem is an entry as stored in the map.
type mapItem = snapmap.Item[valueRef, entryMeta]

func (e *Entry) mapItem() mapItem { return mapItem{Value: e.ref, Meta: e.entryMeta} }

// fromMap sets *e to an entry read from the map and returns e, or returns nil if the map had none.
func (e *Entry) fromMap(in mapItem) *Entry {
	if in.Value == nil {
		return nil
	}
	e.ref, e.entryMeta = in.Value, in.Meta
	return e
}

// entryPair holds both entries of a change in one allocation, as the log refers to both.
type entryPair struct {
	old, next Entry
	decoded   atomic.Pointer[valueRef] // keeps the value of next decoded, see recentValues
}

// identity returns the entry's identity.
func (m entryMeta) identity() identity {
	id := identity{shortIdentity: m.shortIdentity}
	if m.version >= textual {
		id.text = m.shared.origin().version
	}
	return id
}

// scope returns the entry's scope, nil if it has none.
func (m entryMeta) scope() *Scope { return m.shared.origin().scope }

// scopeOf returns the scope of an entry, nil if it is nil or has none.
func scopeOf(e *Entry) *Scope { return e.sharedMeta().origin().scope }

// sharedMeta returns the entry's sharedMeta, nil for a nil entry.
func (e *Entry) sharedMeta() *sharedMeta {
	if e == nil {
		return nil
	}
	return e.shared
}

// isWritten reports whether the program has written an entry, which may be nil, of a store with
// scopes.
func (e *Entry) isWritten() bool { return e.sharedMeta().origin().written }

// IsSameObject reports whether two entries of a key may be states of the same object: their UIDs
// are equal, or one has none.
func (e *Entry) IsSameObject(other *Entry) bool { return e.sameObject(other.identity()) }

// serverVersion returns the version, or "" if it is not one that the server has sent for the entry.
func (e *Entry) serverVersion() string {
	if e.isWritten() {
		return ""
	}
	return e.identity().versionText()
}

// forgetVersion forgets the version of an entry that is kept instead of a newer state, if the
// entry's is the higher one. The server was then restored from a backup, and the states that
// follow, too, may have lower versions than the entry.
func (e *Entry) forgetVersion(newer identity) {
	if newer.before(e.identity()) {
		e.version = 0
	}
}

// confirmed returns the entry if it is a state of the server, and otherwise a copy that is.
func (e *Entry) confirmed() *Entry {
	from := e.shared.origin()
	if !from.written {
		return e
	}
	confirmed := *e
	from.written = false
	confirmed.shared = e.shared.withOrigin(from.meta())
	return &confirmed
}

// isOf reports whether an entry, which may be nil, is one of a scope.
func (e *Entry) isOf(c *Scope) bool { return e != nil && e.scope() == c.mark() }

// identity is an object's UID and resourceVersion as sent by the server. An entry records it when
// the object is stored, so later changes to the value do not affect it.
type identity struct {
	shortIdentity
	text string // the version, if it is a number of 2^63 or more
}

// shortIdentity is the part of an identity that every entry has, in sixteen bytes.
type shortIdentity struct {
	uid     uint64 // a hash; 0 if there is no UID
	version uint64 // the number, or a hash with the textual bit set, see versionOf; 0 if none
}

const textual = 1 << 63

var hashSeed = maphash.MakeSeed() //nolint:gochecknoglobals // never changes; every store may share it

func identityOf(uid, version string) identity {
	id := identity{shortIdentity: shortIdentity{hashUID(uid), versionOf(version)}}
	if id.version >= textual && feed.Reaches(version, "1") {
		id.text = version
	}
	return id
}

func hashUID(uid string) uint64 {
	if uid == "" {
		return 0
	}
	return max(maphash.String(hashSeed, uid), 1)
}

// versionOf returns the number of a version that is well-formed (see apimachinery's
// util/resourceversion) and less than 2^63, as etcd's revisions and times in nanoseconds are, and a
// hash of any other, with the textual bit set.
func versionOf(version string) uint64 {
	if version == "" {
		return 0
	}
	var n uint64
	for i := range len(version) {
		c := version[i]
		if c < '0' || c > '9' || c == '0' && i == 0 || n > (textual-1-uint64(c-'0'))/10 {
			return maphash.String(hashSeed, version) | textual
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}

// sameVersion reports whether a and b are the same version of the same object: both have a UID and
// a version, and these are equal. An empty UID or version never means "unchanged".
func (a shortIdentity) sameVersion(b identity) bool {
	return a == b.shortIdentity && a.uid != 0 && a.version != 0
}

// sameObject reports whether a and b may be states of the same object.
func (a shortIdentity) sameObject(b identity) bool {
	return a.uid == b.uid || a.uid == 0 || b.uid == 0
}

// before reports whether the version of a is known to be older than that of b.
func (a identity) before(b identity) bool {
	if (a.version | b.version) < textual {
		return a.version < b.version && a.version != 0
	}
	return feed.IsOlder(a.versionText(), b.versionText())
}

// versionText returns the version as the server sent it, or "" if it is no number.
func (a identity) versionText() string {
	switch {
	case a.version == 0:
		return ""
	case a.version >= textual:
		return a.text
	}
	return strconv.FormatUint(a.version, 10)
}

// valueRef stands for an entry's value in the map, so that Get reaches the value without a further
// indirection. A *valueRef points to
//
//   - the object itself, if the store has a PointerType and does not pack,
//   - an any on the heap that holds the value, if the store has none and does not pack,
//   - a packed struct, if the store packs.
//
// The case is the same for all entries of a store, and only value.go converts between a valueRef
// and a value. A valueRef is never dereferenced. Its type is smaller than any memory it may point
// to, and the garbage collector follows the allocated memory, not the pointer's type.
type valueRef struct{ _ byte }
