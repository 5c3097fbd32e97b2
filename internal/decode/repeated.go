package decode

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinformer/kinformer/internal/protowire"
)

// elements are a run of occurrences of a field that has bytes. Their lengths are
// known to be right.
type elementRun struct {
	b       []byte
	pos     int // behind the last that was read
	tagSize int // size of each one's tag
	left    int // how many are left
	// outside is set when what is behind the elements has become part of one: they
	// would be something else in another message.
	overrun bool
}

// next returns where the next element's content is.
func (e *elementRun) next() (from, to int) {
	from, to, _ = protowire.Bounds(e.b, e.pos+e.tagSize)
	e.pos = to
	e.left--
	return from, to
}

// slice appends elements to a slice.
func (d *Decoder) decodeSlice(f *fieldPlan, at addr, run *elementRun) error {
	first := at.extend(f.element, run.left)
	for i := uintptr(0); run.left > 0; i++ {
		element := first.add(i * f.element.size)
		from, to := run.next()
		if f.op == opStrings {
			*element.string() = d.strings.Intern(run.b[from:to], f.strings)
		} else if err := d.decodeMessage(f.message, element, run.b[from:to]); err != nil {
			return err
		}
	}
	return nil
}

// mapOf puts entries into a map.
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
		(*m)[d.strings.Intern(key, f.strings)] = d.strings.Intern(value, f.values)
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
		(*m)[d.strings.Intern(key, f.strings)] = append(make([]byte, 0, len(value)), value...)
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
		(*m)[d.strings.Intern(key, f.strings)] = q
	}
	return nil
}

// messageMap is for the maps that few types have, and uses reflection.
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
		m.SetMapIndex(reflect.ValueOf(d.strings.Intern(key, f.strings)).Convert(keyType), value.Elem())
	}
	return nil
}

// literal returns a pointer to T{}, where the generated code has it: of a slice type
// that is empty, not nil.
func (m *messagePlan) newLiteral() reflect.Value {
	value := reflect.New(m.goType)
	if m.goType.Kind() == reflect.Slice {
		value.Elem().Set(reflect.MakeSlice(m.goType, 0, 0))
	}
	return value
}

// entry reads the next entry of a map: a message with two fields, whose last
// occurrences count. Each value is passed to check, if there is one.
//
// The generated code is lenient here, and so is this: it looks at the numbers of
// the fields alone, and lets a key or value end behind the entry, if it ends in the
// message that the map is in.
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

// run returns how many fields with the same tag follow each other, the first of
// which has its tag at start and its content in b[i:], and where the last of them
// ends. A field that is malformed is not one of them, except that the first is
// taken for well-formed up to end.
func measureRun(b []byte, start, i, end int) (n, last int) {
	size := i - start
	for n = 1; ; n++ {
		next := end + size
		if next > len(b) || string(b[end:next]) != string(b[start:i]) {
			return n, end
		}
		_, to, err := protowire.Bounds(b, next)
		if err != nil {
			return n, end
		}
		end = to
	}
}
