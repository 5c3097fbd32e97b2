package decode

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/intern"
	"github.com/kinformer/kinformer/internal/protowire"
)

// message is how to decode one type.
type messagePlan struct {
	goType reflect.Type
	name   string // of the type, for errors
	// fields has the fields by their numbers; nil: not there, or not ours.
	fields []*fieldPlan
	// special decodes a type that is not decoded field by field, nil for others.
	// b is the content of one occurrence of the message, which is merged into what
	// is there.
	custom func(d *Decoder, at addr, b []byte) error
}

// field is how to decode one field of a struct.
type fieldPlan struct {
	name   string
	offset uintptr
	wire   int
	op     op

	message *messagePlan // of messages, and of maps' values
	element *elementType // of slices
	goType  reflect.Type
	id      uint32 // to tell equal bytes of one field from those of another

	strings   *intern.FieldCache  // its strings, or a map's keys
	values    *intern.FieldCache  // a map's values
	bytesHits intern.HitEstimator // of looking for its bytes
	shareHits intern.HitEstimator // of looking for all of it: ShareEqual
}

// op is what to do with a field: its form in Go.
type op uint8

const (
	opBool  op = iota // what has one number
	opInt32           // int32 and uint32
	opInt64           // int64, uint64, int and uint
	opBoolP
	opInt32P
	opInt64P
	opBools // what has numbers, each with its tag, or packed
	opInt32s
	opInt64s
	opString // what has bytes
	opStringP
	opStrings
	opBytes
	opSharedBytes
	opMessage
	opMessageP
	opMessages
	opStringMap
	opBytesMap
	opQuantityMap
	opMessageMap // any other map of strings to messages or strings
)

// compiler makes plans. Types that refer to each other are planned once.
type compiler struct {
	messages map[reflect.Type]*messagePlan
	fields   uint32
}

// unmarshaler is what generated types have.
type unmarshaler interface{ Unmarshal(data []byte) error }

// ours are the packages whose generated code the plan stands for. A tag does not
// say how its Unmarshal was generated, or that somebody wrote it: all of
// Kubernetes' are known, and tested.
const kubernetesPackages = "k8s.io/"

// plan returns the message of a type, or nil if it has no Unmarshal.
func (c *compiler) plan(t reflect.Type) *messagePlan {
	if m, ok := c.messages[t]; ok {
		return m
	}
	if !reflect.PointerTo(t).Implements(reflect.TypeFor[unmarshaler]()) {
		return nil
	}
	m := &messagePlan{goType: t, name: t.Name()}
	c.messages[t] = m // a type may contain itself
	if m.custom = customDecoder(t); m.custom != nil {
		return m
	}
	if t.Kind() != reflect.Struct || !strings.HasPrefix(t.PkgPath(), kubernetesPackages) || !c.planFields(m) {
		m.fields, m.custom = nil, viaUnmarshal(t)
	}
	return m
}

// fill plans a struct's fields. It returns false if there is one that it does not
// understand.
func (c *compiler) planFields(m *messagePlan) bool {
	for structField := range m.goType.Fields() {
		number, on, understood := fieldNumber(structField)
		if !understood {
			return false
		}
		if !on {
			continue
		}
		f := &fieldPlan{name: structField.Name, offset: structField.Offset, goType: structField.Type, id: c.fields}
		c.fields++
		if !c.planField(f) || !m.addField(number, f) {
			return false
		}
		f.addFieldCaches()
	}
	if m.goType == reflect.TypeFor[metav1.FieldsV1]() {
		m.fields[1].op = opSharedBytes
	}
	return true
}

// addSites adds what a field with strings needs.
func (f *fieldPlan) addFieldCaches() {
	switch f.op {
	case opString, opStringP, opStrings, opBytesMap, opQuantityMap, opMessageMap:
		f.strings = &intern.FieldCache{}
	case opStringMap:
		f.strings, f.values = &intern.FieldCache{}, &intern.FieldCache{}
	default:
	}
}

// add adds a field, unless there is one of that number.
func (m *messagePlan) addField(number int, f *fieldPlan) bool {
	for number >= len(m.fields) {
		m.fields = append(m.fields, nil)
	}
	if m.fields[number] != nil {
		return false
	}
	m.fields[number] = f
	return true
}

// form finds out what to do with a field. It returns false if it does not know.
func (c *compiler) planField(f *fieldPlan) bool {
	if f.planNumber() {
		f.wire = protowire.TypeVarint
		return true
	}
	f.wire = protowire.TypeBytes
	switch t := f.goType; t.Kind() {
	case reflect.String:
		f.op = opString
	case reflect.Struct:
		return c.planMessage(f, t, opMessage)
	case reflect.Pointer:
		if t.Elem().Kind() == reflect.String {
			f.op = opStringP
			return true
		}
		return c.planMessage(f, t.Elem(), opMessageP)
	case reflect.Slice:
		return c.planSlice(f, t)
	case reflect.Map:
		return c.planMap(f, t)
	default:
		return false
	}
	return true
}

// numbers is form for what is varints on the wire.
func (f *fieldPlan) planNumber() bool {
	t, ops := f.goType, [3]op{opBool, opInt32, opInt64}
	switch t.Kind() {
	case reflect.Pointer:
		t, ops = t.Elem(), [3]op{opBoolP, opInt32P, opInt64P}
	case reflect.Slice:
		t, ops = t.Elem(), [3]op{opBools, opInt32s, opInt64s}
	default:
	}
	switch t.Kind() {
	case reflect.Bool:
		f.op = ops[0]
	case reflect.Int32, reflect.Uint32:
		f.op = ops[1]
	case reflect.Int64, reflect.Uint64:
		f.op = ops[2]
	default: // int and uint, which have 64 bits on some machines only, included
		return false
	}
	return true
}

// messageOf is form for what holds messages of type t.
func (c *compiler) planMessage(f *fieldPlan, t reflect.Type, as op) bool {
	f.op, f.message = as, c.plan(t)
	return f.message != nil
}

// slice is form for slices of anything but numbers.
func (c *compiler) planSlice(f *fieldPlan, t reflect.Type) bool {
	switch elem := t.Elem(); {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[unmarshaler]()):
		return c.planMessage(f, t, opMessage) // such as authorization's ExtraValue
	case elem.Kind() == reflect.Uint8:
		f.op = opBytes
	case elem.Kind() == reflect.String:
		f.op, f.element = opStrings, newElementType(t)
	case elem.Kind() == reflect.Struct:
		f.element = newElementType(t)
		return c.planMessage(f, elem, opMessages)
	default:
		return false
	}
	return true
}

// mapOf is form for maps.
func (c *compiler) planMap(f *fieldPlan, t reflect.Type) bool {
	value := t.Elem()
	if t.Key().Kind() != reflect.String {
		return false
	}
	switch {
	case value == reflect.TypeFor[resource.Quantity]():
		f.op = opQuantityMap
	case value.Kind() == reflect.String:
		f.op = opStringMap
	case value == reflect.TypeFor[[]byte]():
		f.op = opBytesMap
	default:
		return c.planMessage(f, value, opMessageMap)
	}
	return true
}

// foreign returns how to decode a type by its own Unmarshal.
func viaUnmarshal(t reflect.Type) func(d *Decoder, at addr, b []byte) error {
	return func(_ *Decoder, at addr, b []byte) error {
		return at.pointerTo(t).Interface().(unmarshaler).Unmarshal(b)
	}
}
