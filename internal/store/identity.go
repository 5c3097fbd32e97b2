// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"hash/maphash"
	"strconv"
)

// identity is an object's UID and resourceVersion as sent by the server, in sixteen bytes. An entry
// records it when the object is stored, so later changes to the value do not affect it.
type identity struct {
	uid     uint64 // a hash; 0 if there is no UID
	version uint64 // the number, or a hash with the textual bit set, see versionOf; 0 if none
}

const textual = 1 << 63

var hashSeed = maphash.MakeSeed() //nolint:gochecknoglobals // never changes; every store may share it

func identityOf(uid, version string) identity { return identity{hashUID(uid), versionOf(version)} }

func hashUID(uid string) uint64 {
	if uid == "" {
		return 0
	}
	return max(maphash.String(hashSeed, uid), 1)
}

// versionOf returns the number of a version that is well-formed (see apimachinery's
// util/resourceversion) and has at most 19 digits, as etcd's revisions and times in nanoseconds
// have, and a hash of any other. A number of 2^63 or more has the textual bit set and is, like a
// hash, only compared for equality: a replayed event is not recognized by it.
func versionOf(version string) uint64 {
	const digits = 19 // fit into 64 bits
	if version == "" {
		return 0
	}
	var n uint64
	for i := range len(version) {
		c := version[i]
		if c < '0' || c > '9' || c == '0' && i == 0 || i >= digits {
			return maphash.String(hashSeed, version) | textual
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}

// sameVersion reports whether a and b are the same version of the same object: both have a UID and
// a version, and these are equal. An empty UID or version never means "unchanged".
func (a identity) sameVersion(b identity) bool { return a == b && a.uid != 0 && a.version != 0 }

// sameObject reports whether a and b may be states of the same object.
func (a identity) sameObject(b identity) bool { return a.uid == b.uid || a.uid == 0 || b.uid == 0 }

// before reports whether the version of a is known to be older than that of b.
func (a identity) before(b identity) bool {
	return a.version < b.version && a.version != 0 && b.version < textual
}

// versionText returns the version as the server sent it, or "" if it is no number.
func (a identity) versionText() string {
	if a.version == 0 || a.version >= textual {
		return ""
	}
	return strconv.FormatUint(a.version, 10)
}
