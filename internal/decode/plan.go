// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/fields"
	"github.com/kinformer/kinformer/internal/protowire"
)

// plan describes how to decode the objects of a type. All Decoders of the type share it. It is
// immutable, except for a cache of reflection's array types (elementType).
type plan struct {
	root   *messagePlan
	shared uint32 // the number of ids of fields
	caches uint32 // the number of caches of strings that a Decoder has
}

// planKey identifies a plan. Types are enough: the paths of the fields that NewPartial decodes are
// in the tags of their struct type, and their offsets follow from it.
type planKey struct {
	object reflect.Type // of the decoded objects
	// The types of the API and of the struct with some of its fields; nil for whole objects.
	api, fields reflect.Type
}

// plans holds the plans of the process by key: programs have many informers of one type.
//
//nolint:gochecknoglobals // a type has one plan in a process
var plans = struct {
	sync.Mutex
	compiled map[planKey]*plan
}{compiled: map[planKey]*plan{}}

// planOf returns the plan of a key. It compiles the plan if there is none.
func planOf(key planKey, compile func(c *compiler) (root *messagePlan, err error)) (*plan, error) {
	plans.Lock()
	defer plans.Unlock()
	if p, ok := plans.compiled[key]; ok {
		return p, nil
	}
	c := newCompiler()
	root, err := compile(c)
	if err != nil {
		return nil, err
	}
	p := &plan{root: root, shared: c.shared, caches: c.caches}
	plans.compiled[key] = p
	return p, nil
}

// messagePlan describes how to decode a message of a Go type.
type messagePlan struct {
	goType reflect.Type
	name   string // of the type, for errors
	// fields holds the fields by number. Unknown ones are nil.
	fields []*fieldPlan
	// custom decodes an encoded message b and merges it into the value at an address. It is nil for
	// types that are decoded field by field.
	custom    func(d *Decoder, at addr, b []byte) error
	unplanned int   // if custom is the type's Unmarshal method, its LargestElement
	walk      *walk // for Check

	open      bool // its fields are being planned
	recursive bool // it contains itself, perhaps by way of other types
}

// fieldPlan describes how to decode a field of a struct.
type fieldPlan struct {
	name   string
	offset uintptr
	wire   int
	op     op

	message *messagePlan // for messages and map values
	element *elementType // for slices
	goType  reflect.Type

	// id is the kind of the field's values in Decoder.shared, and the index of their estimate in
	// Decoder.hits. It is set for slices, maps and messages behind pointers.
	id uint32
	// The indexes in Decoder.caches, of fields with strings.
	strings uint32 // for strings and map keys
	values  uint32 // for map values
}

// op selects how a field is decoded, by its type in Go.
type op uint8

const (
	opBool  op = iota // single numbers
	opInt32           // int32 and uint32
	opInt64           // int64 and uint64
	opBoolP
	opInt32P
	opInt64P
	opBools // repeated numbers, packed or not
	opInt32s
	opInt64s
	opString // length-delimited fields
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
	opMessageMap // other maps from strings to messages or strings
)

// compiler compiles a plan. A type has one messagePlan in it, so types may refer to each other.
type compiler struct {
	messages map[reflect.Type]*messagePlan
	partials map[[2]reflect.Type]*messagePlan // of NewPartial, by the types of the program and of the API
	shared   uint32                           // see plan
	caches   uint32
}

func newCompiler() *compiler {
	return &compiler{messages: map[reflect.Type]*messagePlan{}, partials: map[[2]reflect.Type]*messagePlan{}}
}

// unmarshaler is implemented by generated types.
type unmarshaler interface{ Unmarshal(data []byte) error }

// plan returns the plan of a type, or nil if it has no Unmarshal method. A struct tag does not say
// how the method was generated, or whether it is handwritten: those of Kubernetes are known and
// tested.
func (c *compiler) plan(t reflect.Type) *messagePlan {
	if m, ok := c.messages[t]; ok {
		m.recursive = m.recursive || m.open
		return m
	}
	if !reflect.PointerTo(t).Implements(reflect.TypeFor[unmarshaler]()) {
		return nil
	}
	m := &messagePlan{goType: t, name: t.Name(), walk: newWalk(t), open: true}
	defer func() { m.open = false }()
	c.messages[t] = m // a type may contain itself
	if m.custom = customDecoder(t); m.custom != nil {
		return m
	}
	if t.Kind() != reflect.Struct || !fields.IsKubernetes(t) || !c.planFields(m) {
		m.fields, m.custom, m.unplanned = nil, viaUnmarshal(t), max(scalarSize, LargestElement(t))
	}
	m.walk.addFields(m)
	return m
}

// planFields plans the fields of a struct. It reports whether it supports all of them.
func (c *compiler) planFields(m *messagePlan) bool {
	for structField := range m.goType.Fields() {
		number, supported := fieldNumber(structField)
		if !supported {
			return false
		}
		if number == 0 {
			continue
		}
		f := &fieldPlan{name: structField.Name, offset: structField.Offset, goType: structField.Type}
		if !c.planField(f) || !m.addField(number, f) {
			return false
		}
		c.number(f)
	}
	if m.goType == reflect.TypeFor[metav1.FieldsV1]() {
		m.fields[1].op = opSharedBytes
	}
	return true
}

// number sets the indexes of what a Decoder keeps for a field.
func (c *compiler) number(f *fieldPlan) {
	switch f.op {
	case opBytes, opMessageP, opStrings, opMessages, opStringMap, opBytesMap, opQuantityMap, opMessageMap:
		f.id = c.shared
		c.shared++
	default:
	}
	switch f.op {
	case opString, opStringP, opStrings, opBytesMap, opQuantityMap, opMessageMap:
		f.strings = c.caches
		c.caches++
	case opStringMap:
		f.strings, f.values = c.caches, c.caches+1
		c.caches += 2
	default:
	}
}

// addField adds a field. It reports whether the number was free.
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

// planField sets the op of a field and what the op needs. It reports whether the field's type is
// supported.
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

// planNumber is planField for types that are encoded as varints.
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
	default: // also int and uint, whose size depends on the platform
		return false
	}
	if f.goType.Kind() == reflect.Slice {
		f.element = newElementType(t)
	}
	return true
}

// planMessage is planField for fields that hold messages of type t.
func (c *compiler) planMessage(f *fieldPlan, t reflect.Type, o op) bool {
	f.op, f.message = o, c.plan(t)
	return f.message != nil
}

// planSlice is planField for slices, except slices of numbers.
func (c *compiler) planSlice(f *fieldPlan, t reflect.Type) bool {
	switch elem := t.Elem(); {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[unmarshaler]()):
		return c.planMessage(f, t, opMessage) // such as authorization's ExtraValue
	case elem.Kind() == reflect.Uint8:
		f.op = opBytes
	case elem.Kind() == reflect.String:
		f.op, f.element = opStrings, newElementType(elem)
	case elem.Kind() == reflect.Struct:
		f.element = newElementType(elem)
		return c.planMessage(f, elem, opMessages)
	default:
		return false
	}
	return true
}

// planMap is planField for maps.
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

// viaUnmarshal returns a function that decodes a type with its Unmarshal method. A slice has no
// spare capacity unless it had elements before; see addr.extend.
func viaUnmarshal(t reflect.Type) func(d *Decoder, at addr, b []byte) error {
	return func(_ *Decoder, at addr, b []byte) error {
		wasEmpty := t.Kind() == reflect.Slice && at.sliceHeader().len == 0
		err := at.pointerTo(t).Interface().(unmarshaler).Unmarshal(b)
		if wasEmpty {
			at.setSliceRef(at.sliceRef())
		}
		return err
	}
}
