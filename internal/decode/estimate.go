// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"reflect"
	"sync"

	"github.com/kinformer/kinformer/internal/protowire"
)

// The estimated memory, in bytes, of values whose size the Go type does not state.
const (
	// Go allocates eight slots of a map with the first one. Values larger than maxSlot are behind
	// pointers.
	mapHeader, groupSlots, keySlot, pointerSlot, maxSlot = 56, 8, 16, 8, 128
	// scalarSize is the memory of a string, number or time, and of its slot in a slice or map. In
	// JSON it is more, because slices and maps grow, and the smaller ones that were copied count.
	scalarSize     = 64
	jsonScalarSize = 192
	// maxUnplanned is the depth to which the estimate follows messages without a plan.
	maxUnplanned = 100
)

// mapSize estimates the memory of a map with one entry. value is the size of its value.
func mapSize(value int) int {
	slot, behind := slotOf(value)
	return mapHeader + groupSlots*slot + behind
}

// entrySize estimates the memory of a further entry of a map. It is more than a slot, because some
// slots are empty, and all are copied when the map grows.
func entrySize(value int) int {
	slot, behind := slotOf(value)
	return 3*slot + behind
}

// slotOf returns the size of a map's slot for a value, and the memory of a value that is too large
// for the slot. Such a value counts twice, because it is decoded elsewhere and then copied.
func slotOf(value int) (slot, behind int) {
	if value > maxSlot {
		return keySlot + pointerSlot, 2 * value
	}
	return keySlot + value, 0
}

// LargestElement estimates the memory of the largest value that a few bytes of an encoded t
// allocate: an element of a slice, which may grow, an entry of a map, or a value behind a pointer.
func LargestElement(t reflect.Type) int {
	if found, ok := largestElements.Load(t); ok {
		return found.(int)
	}
	largest := largestIn(t, map[reflect.Type]bool{})
	largestElements.Store(t, largest)
	return largest
}

// largestElements caches the results of LargestElement for the process, as plans does the plans.
var largestElements sync.Map //nolint:gochecknoglobals // from reflect.Type to int

func largestIn(t reflect.Type, seen map[reflect.Type]bool) (largest int) {
	if seen[t] {
		return 0
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Array:
		return max(int(t.Elem().Size()), largestIn(t.Elem(), seen))
	case reflect.Slice:
		return max(2*int(t.Elem().Size()), largestIn(t.Elem(), seen))
	case reflect.Map:
		return max(mapSize(int(t.Elem().Size())), largestIn(t.Elem(), seen))
	case reflect.Struct:
		for field := range t.Fields() {
			largest = max(largest, largestIn(field.Type, seen))
		}
	default:
	}
	return largest
}

// Allocates estimates the memory, in bytes, that Decode allocates for raw. It parses the bytes
// without building an object, and returns soon after the estimate exceeds limit. If the bytes are
// malformed, it estimates those before the error.
func (d *Decoder) Allocates(raw []byte, limit int) int {
	e := estimate{n: len(raw) + int(d.plan.root.goType.Size()), limit: limit}
	e.message(d.plan.root, raw, 0)
	return e.n
}

// estimate is the sum of an estimate so far, n, and its limit.
type estimate struct{ n, limit int }

// message adds what a message allocates besides its own struct.
func (e *estimate) message(m *messagePlan, b []byte, depth int) {
	if m.custom != nil {
		e.n += scalarSize
		if m.unplanned > 0 {
			e.unplannedMessage(m.unplanned, b, 0)
		}
		return
	}
	var last *fieldPlan
	for i := 0; i < len(b) && e.n <= e.limit && depth <= maxNesting; {
		tag, next, err := protowire.Varint(b, i)
		if err != nil {
			return
		}
		number, wire, err := protowire.SplitTag(tag)
		if err != nil {
			return
		}
		if i, err = protowire.Skip(b, next, wire); err != nil {
			return
		}
		if int(number) >= len(m.fields) || m.fields[number] == nil {
			continue
		}
		content := b[next:i]
		if wire == protowire.TypeBytes {
			from, to, err := protowire.Bounds(b, next)
			if err != nil {
				return
			}
			content = b[from:to]
		}
		f := m.fields[number]
		e.field(f, content, f == last, depth)
		last = f
	}
}

// unplannedMessage adds the memory of a message whose fields are not known, and reports whether b
// can be parsed as a message. Each field that can be parsed as a message counts as an element of
// size largest, and each other one as a scalar.
func (e *estimate) unplannedMessage(largest int, b []byte, depth int) (ok bool) {
	for i := 0; i < len(b) && e.n <= e.limit; {
		tag, next, err := protowire.Varint(b, i)
		if err != nil {
			return false
		}
		_, wire, err := protowire.SplitTag(tag)
		if err != nil {
			return false
		}
		if i, err = protowire.Skip(b, next, wire); err != nil {
			return false
		}
		e.n += scalarSize
		if wire != protowire.TypeBytes || depth == maxUnplanned {
			continue
		}
		from, to, err := protowire.Bounds(b, next)
		if err != nil {
			return false
		}
		before := e.n
		if e.n += largest; !e.unplannedMessage(largest, b[from:to], depth+1) {
			e.n = before // a string
		}
	}
	return true
}

// field adds what a field allocates. again says that the previous field of the message has the same
// plan, so that an entry of a map is not the first one.
func (e *estimate) field(f *fieldPlan, content []byte, again bool, depth int) {
	switch f.op {
	case opBool, opInt32, opInt64:
	case opBools, opInt32s, opInt64s:
		e.n += 24 * len(content) // a byte is an element of up to eight; the slices that were copied count
	case opBoolP, opInt32P, opInt64P:
		e.n += 8
	case opMessage:
		e.message(f.message, content, depth+1)
	case opMessageP:
		e.n += int(f.message.goType.Size())
		e.message(f.message, content, depth+1)
	case opMessages: // twice, because the slice is copied when it grows
		e.n += 2 * int(f.message.goType.Size())
		e.message(f.message, content, depth+1)
	case opStringMap, opBytesMap, opQuantityMap:
		e.mapEntry(int(f.goType.Elem().Size()), again)
		e.n += scalarSize
	case opMessageMap:
		e.mapEntry(int(f.goType.Elem().Size()), again)
		e.mapValue(f, content, depth)
	default:
		e.n += scalarSize
	}
}

// mapEntry adds the memory of a map's entry and its key. value is the size of its value. again says
// that the map has an entry already.
func (e *estimate) mapEntry(value int, again bool) {
	e.n += scalarSize
	if again {
		e.n += entrySize(value)
	} else {
		e.n += mapSize(value)
	}
}

// mapValue adds what the value of a map's entry, which is a message, allocates.
func (e *estimate) mapValue(f *fieldPlan, b []byte, depth int) {
	for i := 0; i < len(b); {
		tag, next, err := protowire.Varint(b, i)
		if err != nil {
			return
		}
		if i, err = protowire.Skip(b, next, int(tag&7)); err != nil {
			return
		}
		if from, to, err := protowire.Bounds(b, next); err == nil && tag>>3 == 2 {
			e.message(f.message, b[from:to], depth+1)
		}
	}
}
