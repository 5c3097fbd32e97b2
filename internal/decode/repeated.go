// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinformer/kinformer/internal/protowire"
)

// elementRun reads consecutive elements of a repeated field. Their lengths have been checked.
type elementRun struct {
	b       []byte
	pos     int // end of the last element read
	tagSize int // length of each tag
	left    int // elements not read yet
	// overrun is set if an element includes bytes after its end. The same elements then have
	// another value in another message.
	overrun bool
}

// next returns the bounds of the next element's content.
func (e *elementRun) next() (from, to int) {
	from, to, _ = protowire.Bounds(e.b, e.pos+e.tagSize)
	e.pos = to
	e.left--
	return from, to
}

// decodeSlice appends the elements to a slice.
func (d *Decoder) decodeSlice(f *fieldPlan, at addr, run *elementRun) error {
	first := at.extend(f.element, run.left)
	for i := uintptr(0); run.left > 0; i++ {
		element := first.add(i * f.element.size)
		from, to := run.next()
		if f.op == opStrings {
			*element.string() = d.intern(run.b[from:to], f.strings)
		} else if err := d.decodeMessage(f.message, element, run.b[from:to]); err != nil {
			return err
		}
	}
	return nil
}

// decodeMap adds the elements to a map.
func (d *Decoder) decodeMap(f *fieldPlan, at addr, run *elementRun) error {
	switch f.op {
	case opStringMap:
		return d.decodeStringMap(f, at.stringMap(), run)
	case opBytesMap:
		return d.decodeBytesMap(f, at.bytesMap(), run)
	case opQuantityMap:
		return d.decodeQuantityMap(f, at.quantityMap(), run)
	default:
		return d.decodeMessageMap(f, at.pointerTo(f.goType).Elem(), run)
	}
}

func (d *Decoder) decodeStringMap(f *fieldPlan, m *map[string]string, run *elementRun) error {
	if *m == nil {
		*m = make(map[string]string, run.left)
	}
	for run.left > 0 {
		key, value, err := run.nextEntry(nil)
		if err != nil {
			return err
		}
		(*m)[d.intern(key, f.strings)] = d.intern(value, f.values)
	}
	return nil
}

func (d *Decoder) decodeBytesMap(f *fieldPlan, m *map[string][]byte, run *elementRun) error {
	if *m == nil {
		*m = make(map[string][]byte, run.left)
	}
	for run.left > 0 {
		key, value, err := run.nextEntry(nil)
		if err != nil {
			return err
		}
		(*m)[d.intern(key, f.strings)] = append(make([]byte, 0, len(value)), value...)
	}
	return nil
}

func (d *Decoder) decodeQuantityMap(f *fieldPlan, m *map[string]resource.Quantity, run *elementRun) error {
	if *m == nil {
		*m = make(map[string]resource.Quantity, run.left)
	}
	for run.left > 0 {
		var q resource.Quantity
		key, _, err := run.nextEntry(func(value []byte) error {
			q = resource.Quantity{}
			return d.decodeQuantity(&q, value)
		})
		if err != nil {
			return err
		}
		(*m)[d.intern(key, f.strings)] = q
	}
	return nil
}

// decodeMessageMap decodes the less common kinds of maps, by reflection.
func (d *Decoder) decodeMessageMap(f *fieldPlan, m reflect.Value, run *elementRun) error {
	if m.IsNil() {
		m.Set(reflect.MakeMapWithSize(f.goType, run.left))
	}
	keyType := f.goType.Key()
	for run.left > 0 {
		value := f.message.newLiteral()
		key, _, err := run.nextEntry(func(b []byte) error {
			value = f.message.newLiteral()
			return d.decodeMessage(f.message, addrOf(value), b)
		})
		if err != nil {
			return err
		}
		m.SetMapIndex(reflect.ValueOf(d.intern(key, f.strings)).Convert(keyType), value.Elem())
	}
	return nil
}

// newLiteral returns a pointer to the value T{} of generated code, which for a slice type is empty,
// not nil.
func (m *messagePlan) newLiteral() reflect.Value {
	value := reflect.New(m.goType)
	if m.goType.Kind() == reflect.Slice {
		value.Elem().Set(reflect.MakeSlice(m.goType, 0, 0))
	}
	return value
}

// nextEntry reads the next entry of a map, a message with a key and a value. The last of several
// keys or values wins. It calls check, if not nil, for each value.
//
// Like generated code, it ignores the wire types of the key and the value, and accepts a key or
// value that ends after the entry, if it ends within the enclosing message.
func (e *elementRun) nextEntry(check func(value []byte) error) (key, value []byte, err error) {
	i, end := e.next()
	for i < end {
		tag, next, err := protowire.Varint(e.b, i)
		if err != nil {
			return nil, nil, err
		}
		number := int32(tag >> 3)
		if number != 1 && number != 2 {
			if i, err = protowire.Skip(e.b, next, int(tag&7)); err != nil {
				return nil, nil, err
			}
			if i > end {
				return nil, nil, protowire.ErrOverrun
			}
			continue
		}
		from, to, err := protowire.Bounds(e.b, next)
		if err != nil {
			return nil, nil, err
		}
		content := e.b[from:to]
		e.overrun = e.overrun || to > end
		if i = to; number == 1 {
			key = content
			continue
		}
		if value = content; check != nil {
			if err := check(value); err != nil {
				return nil, nil, err
			}
		}
	}
	return key, value, nil
}

// measureRun returns the number of consecutive fields with the same tag, and the end of the last
// one. The first field has its tag at start, its value at value, and its end at end. The run ends
// before a malformed field.
func measureRun(b []byte, start, value, end, wire int) (n, last int) {
	size := value - start
	for n = 1; ; n++ {
		next := end + size
		if next > len(b) || string(b[end:next]) != string(b[start:value]) {
			return n, end
		}
		to, err := protowire.Skip(b, next, wire)
		if err != nil {
			return n, end
		}
		end = to
	}
}
