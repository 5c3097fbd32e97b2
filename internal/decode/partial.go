// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/partial"
	"github.com/kinformer/kinformer/internal/protowire"
)

// NewPartial returns a Decoder that decodes objects of an API type into another struct type: the
// metadata without managedFields, if the type has it, and some fields. Other fields are skipped and
// not checked. It returns an error if New has no plan for the API type: the caller must decode
// whole objects.
func NewPartial(of partial.Object, options Options) (*Decoder, error) {
	if foreign := foreignIn(of.Fields.Root, map[*partial.Struct]bool{}); foreign != nil {
		return nil, fmt.Errorf("%s is not a type of Kubernetes", foreign)
	}
	fields := of.Fields.Root
	key := planKey{object: of.Type, api: fields.API, fields: fields.Type, metadata: of.HasMetadata}
	p, err := planOf(key, func(c *compiler) (*messagePlan, error) { return c.planObject(of) })
	if err != nil {
		return nil, fmt.Errorf("%s cannot be decoded from protobuf in part: %w", fields.API, err)
	}
	return decoderOf(p, options), nil
}

// planObject returns the plan of objects with some of the fields of an API type.
func (c *compiler) planObject(of partial.Object) (*messagePlan, error) {
	root := newPartialPlan(of.Type)
	if err := c.addFields(root, of.Fields.Root, of.FieldsOffset); err != nil {
		return nil, err
	}
	if of.HasMetadata {
		if err := c.addMetadata(root, of); err != nil {
			return nil, err
		}
	}
	root.walk.addFields(root)
	return root, nil
}

// foreignIn returns a struct of the API that is not of Kubernetes and whose fields are read one by
// one, or nil if there is none.
func foreignIn(s *partial.Struct, seen map[*partial.Struct]bool) reflect.Type {
	if seen[s] {
		return nil
	}
	seen[s] = true
	if !strings.HasPrefix(s.API.PkgPath(), kubernetesPackages) {
		return s.API
	}
	for _, field := range s.Fields {
		if field.Elem == nil {
			continue
		}
		if foreign := foreignIn(field.Elem, seen); foreign != nil {
			return foreign
		}
	}
	return nil
}

// newPartialPlan returns a plan without fields.
func newPartialPlan(t reflect.Type) *messagePlan {
	return &messagePlan{goType: t, name: t.Name(), walk: &walk{}, fields: []*fieldPlan{nil}}
}

// addMetadata adds the metadata of an object without managedFields.
func (c *compiler) addMetadata(root *messagePlan, of partial.Object) error {
	api, ok := of.Fields.Root.API.FieldByName("ObjectMeta")
	number, tagged, supported := fieldNumber(api)
	whole := c.plan(reflect.TypeFor[metav1.ObjectMeta]())
	if !ok || !tagged || !supported || whole.custom != nil {
		return fmt.Errorf("%s has no metadata", of.Fields.Root.API)
	}
	metadata := newPartialPlan(whole.goType)
	metadata.fields = slices.Clone(whole.fields)
	managedFields, _ := whole.goType.FieldByName("ManagedFields")
	omitted, _, _ := fieldNumber(managedFields)
	metadata.fields[omitted] = nil
	metadata.walk.addFields(metadata)
	return addNew(root, number, &fieldPlan{name: "ObjectMeta", offset: of.MetadataOffset, goType: whole.goType, wire: protowire.TypeBytes, op: opMessage, message: metadata})
}

// addNew adds a field whose number must be free.
func addNew(m *messagePlan, number int, f *fieldPlan) error {
	if !m.addField(number, f) {
		return fmt.Errorf("two fields have the number %d", number)
	}
	return nil
}

// addFields adds the fields of a struct, which begins at an offset in the value of the plan. A
// field of a struct that the API inlines is in a message of its own, which writes to the same
// value.
func (c *compiler) addFields(m *messagePlan, s *partial.Struct, offset uintptr) error {
	var plans []*messagePlan // of inlined structs
	for _, field := range s.Fields {
		if !isEncoded(field.Chain) {
			continue
		}
		into, last := m, len(field.Chain)-1
		for _, inlined := range field.Chain[:last] {
			next, err := into.inlined(inlined)
			if err != nil {
				return err
			}
			into = next
			plans = append(plans, into)
		}
		number, err := numberOf(field.Chain[last])
		if err != nil {
			return err
		}
		own := s.Type.Field(field.Index)
		f := &fieldPlan{name: own.Name, offset: offset + own.Offset, goType: own.Type}
		if err := c.planPartial(f, field); err != nil {
			return fmt.Errorf("%s: %w", own.Name, err)
		}
		c.number(f)
		if err := addNew(into, number, f); err != nil {
			return err
		}
	}
	for _, inlined := range plans {
		inlined.walk.addFields(inlined)
	}
	return nil
}

// isEncoded reports whether generated code encodes a field, and the structs around it.
func isEncoded(chain []reflect.StructField) bool {
	return !slices.ContainsFunc(chain, func(field reflect.StructField) bool {
		_, tagged, _ := fieldNumber(field)
		return !tagged
	})
}

func numberOf(field reflect.StructField) (int, error) {
	number, tagged, supported := fieldNumber(field)
	if !tagged || !supported {
		return 0, fmt.Errorf("the protobuf tag of %s is not supported", field.Name)
	}
	return number, nil
}

// inlined returns the plan of an inlined struct of the API, which it adds if there is none.
func (m *messagePlan) inlined(field reflect.StructField) (*messagePlan, error) {
	number, err := numberOf(field)
	if err != nil {
		return nil, err
	}
	if number < len(m.fields) && m.fields[number] != nil {
		return m.fields[number].message, nil
	}
	inner := newPartialPlan(field.Type)
	m.addField(number, &fieldPlan{name: field.Name, goType: field.Type, wire: protowire.TypeBytes, op: opMessage, message: inner})
	return inner, nil
}

// planPartial is planField for a field that may have fewer fields than that of the API.
func (c *compiler) planPartial(f *fieldPlan, field partial.Field) error {
	if field.Elem == nil {
		if !c.planField(f) {
			return fmt.Errorf("%s is not supported", f.goType)
		}
		return nil
	}
	f.wire = protowire.TypeBytes
	switch f.goType.Kind() {
	case reflect.Struct:
		f.op = opMessage
	case reflect.Pointer:
		f.op = opMessageP
	case reflect.Slice:
		f.op, f.element = opMessages, newElementType(f.goType.Elem())
	default:
		f.op = opMessageMap
	}
	inner := f.goType
	if f.op != opMessage {
		inner = inner.Elem()
	}
	if inner != field.Elem.Type {
		return fmt.Errorf("%s is not supported", f.goType)
	}
	var err error
	f.message, err = c.partialPlan(field.Elem)
	return err
}

// partialPlan returns the plan of a struct with fewer fields than that of the API.
func (c *compiler) partialPlan(s *partial.Struct) (*messagePlan, error) {
	if m, ok := c.partials[s]; ok {
		m.recursive = m.recursive || m.open
		return m, nil
	}
	m := newPartialPlan(s.Type)
	c.partials[s] = m
	m.open = true
	err := c.addFields(m, s, 0)
	m.open = false
	m.walk.addFields(m)
	return m, err
}
