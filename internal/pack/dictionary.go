// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import "math"

// match is a part of the source, or of the object itself, that equals the bytes to encode next.
type match struct {
	addr, length int
	self         bool // found in the object itself
	gain         int  // bytes saved against a literal
}

const (
	nearCost  = 2  // bytes of a copy at the cursor
	farCost   = 4  // bytes of a copy from elsewhere
	goodMatch = 16 // gain from which no better match is searched for
)

// dictEncode assembles raw from parts of the source, wherever they are, and of itself. x indexes
// the source; it is nil if there is none.
func (e *encoder) dictEncode(x *index) {
	clear(e.selfIndex[:])
	for at := 0; at+8 <= len(e.raw); {
		m := e.bestMatch(at, x)
		if m.gain <= 0 {
			at += 1 + (at-e.done)>>3
			continue
		}
		if m.gain < goodMatch && at+9 <= len(e.raw) {
			if next := e.bestMatch(at+1, x); next.gain > m.gain+1 {
				at++
				m = next
			}
		}
		at = e.extendBackward(at, &m)
		if m.self {
			e.copyOutput(at, m.addr, m.length)
		} else {
			e.copySource(at, m.addr, m.length)
		}
		at = e.done
	}
	e.finish()
}

// bestMatch returns the match with the highest gain for raw from at on.
func (e *encoder) bestMatch(at int, x *index) (m match) {
	raw := e.raw[at:]
	next := word(e.raw, at)
	if a := e.cursor + at - e.done; a >= 0 && a+8 <= len(e.source) && uint32(word(e.source, a)) == uint32(next) {
		m = match{addr: a}
		m.length = 4 + commonPrefix(raw[4:], e.source[a+4:])
		if m.gain = m.length - nearCost; m.gain >= goodMatch {
			return m
		}
	}
	if at <= math.MaxUint16 {
		slot := e.selfIndex.slot(next)
		found := int(*slot)
		*slot = uint16(at)
		if found < at && uint32(word(e.raw, found)) == uint32(next) {
			m.improve(raw, e.raw, found, true)
		}
	}
	if x == nil || len(e.source) < 8 {
		return m
	}
	if addr := int(x.long[x.slotLong(next)]); word(e.source, addr) == next {
		m.improve(raw, e.source, addr, false)
	} else if addr := int(x.short[x.slotShort(uint32(next))]); m.gain <= 0 && uint32(word(e.source, addr)) == uint32(next) {
		m.improve(raw, e.source, addr, false)
	}
	return m
}

// improve replaces m by the match at addr if that gains more. Its first four bytes are known to be
// equal.
func (m *match) improve(raw, from []byte, addr int, self bool) {
	n := 4 + commonPrefix(raw[4:], from[addr+4:])
	if n-farCost > m.gain {
		*m = match{addr: addr, length: n, self: self, gain: n - farCost}
	}
}

// extendBackward extends a match towards the front and returns where it begins.
func (e *encoder) extendBackward(at int, m *match) int {
	from := e.source
	if m.self {
		from = e.raw
	}
	for at > e.done && m.addr > 0 && e.raw[at-1] == from[m.addr-1] {
		at--
		m.addr--
		m.length++
	}
	return at
}
