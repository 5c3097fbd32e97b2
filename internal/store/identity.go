package store

import (
	"hash/maphash"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// identity is the UID and the resourceVersion that the server gave an object, in
// sixteen bytes. An entry remembers it from when it came: what becomes of the value
// since (a caller may write into it, forbidden as that is) does not matter.
type identity struct {
	uid     uint64 // a hash; zero of none
	version uint64 // the number; of what is no number, a hash with the bit textual; zero of none
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

// versionOf returns what stands for a version: its number if it is well-formed (see
// apimachinery's util/resourceversion) and not astronomic.
func versionOf(version string) uint64 {
	const digits = 18 // fit below textual
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

// sameVersion tells whether two sightings of a key are of the same object in the
// same version: both UIDs and both versions there, and equal. Empty never means
// "unchanged".
func (a identity) sameVersion(b identity) bool { return a == b && a.uid != 0 && a.version != 0 }

// sameObject tells whether they may be of one object.
func (a identity) sameObject(b identity) bool { return a.uid == b.uid || a.uid == 0 || b.uid == 0 }

// before tells whether a is known to be of an older version.
func (a identity) before(b identity) bool {
	return a.version < b.version && a.version != 0 && b.version < textual
}

// older tells whether a version of the collection is known to be before another.
func older(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}
