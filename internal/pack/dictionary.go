package pack

import (
	"encoding/binary"
	"math"
)

// An object without siblings is put together from parts of a dictionary, wherever
// they are in it, and of parts of itself.

// match is a part of the source, or of the object itself, that comes next.
type match struct {
	address, length int
	own             bool
	gain            int // bytes that it spares
}

// What a copy takes besides a literal, and what it may spare before nobody looks
// for a better one.
const (
	costHere = 2
	costFar  = 4
	plenty   = 16
)

// strangers writes raw as parts of the source, which is indexed, and of itself.
func (e *encoder) strangers(x *index) {
	clear(e.own[:])
	for at := 0; at+8 <= len(e.raw); {
		m := e.best(at, x)
		if m.gain <= 0 {
			at += 1 + (at-e.done)>>4
			continue
		}
		if m.gain < plenty && at+9 <= len(e.raw) {
			if next := e.best(at+1, x); next.gain > m.gain+1 {
				at++
				m = next
			}
		}
		at = e.backward(at, &m)
		if m.own {
			e.copyOutput(at, m.address, m.length)
		} else {
			e.copySource(at, m.address, m.length)
		}
		at = e.done
	}
	e.finish()
}

// best returns the match at a place that spares the most.
func (e *encoder) best(at int, x *index) (m match) {
	raw := e.raw[at:]
	word := binary.LittleEndian.Uint64(raw)
	if a := e.cursor + at - e.done; a >= 0 && a+8 <= len(e.source) && binary.LittleEndian.Uint32(e.source[a:]) == uint32(word) {
		m = match{address: a}
		m.length = 4 + common(raw[4:], e.source[a+4:])
		if m.gain = m.length - costHere; m.gain >= plenty {
			return m
		}
	}
	if at <= math.MaxUint16 {
		slot := e.own.slot(word)
		found := int(*slot)
		*slot = uint16(at)
		if found < at && binary.LittleEndian.Uint32(e.raw[found:]) == uint32(word) {
			m.better(raw, e.raw, found, true)
		}
	}
	if x == nil || len(e.source) < 8 {
		return m
	}
	if place := int(x.long[x.slotLong(word)]); binary.LittleEndian.Uint64(e.source[place:]) == word {
		m.better(raw, e.source, place, false)
	} else if place := int(x.short[x.slotShort(uint32(word))]); m.gain <= 0 && binary.LittleEndian.Uint32(e.source[place:]) == uint32(word) {
		m.better(raw, e.source, place, false)
	}
	return m
}

// better makes the match one of which four bytes are known to be the same, if
// that spares more.
func (m *match) better(raw, from []byte, address int, own bool) {
	n := 4 + common(raw[4:], from[address+4:])
	if n-costFar > m.gain {
		*m = match{address: address, length: n, own: own, gain: n - costFar}
	}
}

// backward lengthens a match to the front, and returns where it begins.
func (e *encoder) backward(at int, m *match) int {
	from := e.source
	if m.own {
		from = e.raw
	}
	for at > e.done && m.address > 0 && e.raw[at-1] == from[m.address-1] {
		at--
		m.address--
		m.length++
	}
	return at
}
