package pack

import (
	"encoding/binary"
	"math/bits"
)

// Siblings are aligned: nearly all of what is the same is at the same place, or a
// few bytes from there. So their difference needs no search but where they differ.

const (
	enough   = 6   // so many bytes that are the same again are worth a copy
	sideways = 6   // how many bytes away they may be
	straight = 80  // how far they are looked for, first at the same distance alone
	farthest = 256 // and then to either side
	tail     = 96  // what is not worth an index of the source
)

// siblings writes raw by its difference to the source. It gives up, and returns
// false, when that takes more bytes than limit.
func (e *encoder) siblings(limit int) bool {
	at, address := 0, 0
	for {
		n := common(e.raw[at:], e.source[address:])
		e.copySource(at, address, n)
		if len(e.out) > limit {
			return false
		}
		at, address = at+n, address+n
		if at == len(e.raw) {
			return true
		}
		skip, shift, ok := e.resume(at, address)
		if !ok && len(e.raw)-at > tail {
			skip, shift, ok = e.search(at, address, limit-len(e.out))
		}
		if !ok {
			e.ending(at)
			return len(e.out) <= limit
		}
		at, address = at+skip, address+skip+shift
	}
}

// ending writes the rest, of which what both end with need not be written.
func (e *encoder) ending(at int) {
	n := 0
	for n < len(e.raw)-at && n < len(e.source) && e.raw[len(e.raw)-1-n] == e.source[len(e.source)-1-n] {
		n++
	}
	if n >= enough {
		e.copySource(len(e.raw)-n, len(e.source)-n, n)
	}
	e.finish()
}

// resume returns how many bytes of raw to skip until it agrees with the source
// again, and how much farther that is in the source.
func (e *encoder) resume(at, address int) (skip, shift int, ok bool) {
	raw, source := e.raw[at:], e.source[address:]
	skip, ok = e.ahead(raw, source)
	if ok && skip < straight {
		return skip, 0, true
	}
	until := min(farthest, len(raw)-8)
	for d := range until {
		want := binary.LittleEndian.Uint64(raw[d:]) & sixBytes
		for s := -min(sideways, address+d); s <= sideways && d+s+8 <= len(source); s++ {
			if d+s >= 0 && binary.LittleEndian.Uint64(source[d+s:])&sixBytes == want {
				return d, s, true
			}
		}
	}
	return 0, 0, false
}

const sixBytes = 1<<48 - 1

// ahead returns how many bytes to skip until six are the same in both.
func (e *encoder) ahead(raw, source []byte) (int, bool) {
	same := 0
	for i := range min(len(raw), len(source), straight+enough) {
		if raw[i] != source[i] {
			same = 0
		} else if same++; same == enough {
			return i + 1 - enough, true
		}
	}
	return 0, false
}

// search finds where raw goes on in a source of which nothing near agrees: parts
// were put in or taken out.
func (e *encoder) search(at, address, until int) (skip, shift int, ok bool) {
	if !e.places.fresh {
		e.places.index(e.source)
	}
	for d := 0; d < until && at+d+8 <= len(e.raw); d++ {
		word := binary.LittleEndian.Uint64(e.raw[at+d:])
		if found, ok := e.places.find(word); ok && binary.LittleEndian.Uint64(e.source[found:]) == word {
			return d, found - address - d, true
		}
	}
	return 0, 0, false
}

// common returns how many bytes a and b begin with are the same.
func common(a, b []byte) int {
	n := 0
	for n+8 <= len(a) && n+8 <= len(b) {
		if diff := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); diff != 0 {
			return n + bits.TrailingZeros64(diff)/8
		}
		n += 8
	}
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
