// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/fields"
	"github.com/kinformer/kinformer/internal/protowire"
)

// NewPartial returns a Decoder that decodes objects of an API type into another struct type: the
// metadata without managedFields, if the type has it, and some fields. Other fields are skipped and
// not checked. It returns an error if New has no plan for the API type: the caller must decode
// whole objects.
func NewPartial(of *fields.Partial, options Options) (*Decoder, error) {
	if foreign := foreignIn(of.Root); foreign != nil {
		return nil, fmt.Errorf("%s is not a type of Kubernetes", foreign)
	}
	key := planKey{object: of.Type, api: of.Root.Type, fields: of.Root.Own}
	p, err := planOf(key, func(c *compiler) (*messagePlan, error) { return c.planObject(of) })
	if err != nil {
		return nil, fmt.Errorf("%s cannot be decoded from protobuf in part: %w", of.Root.Type, err)
	}
	return decoderOf(p, options), nil
}

// planObject returns the plan of objects with some of the fields of an API type.
func (c *compiler) planObject(of *fields.Partial) (*messagePlan, error) {
	plan, err := c.partialPlan(of.Root)
	if err != nil || !of.HasMetadata() {
		return plan, err
	}
	root := newPartialPlan(of.Type)
	own, _ := of.Type.FieldByName("Fields")
	for _, f := range plan.fields {
		if f != nil {
			moved := *f
			moved.offset += own.Offset
			f = &moved
		}
		root.fields = append(root.fields, f)
	}
	if err := c.addMetadata(root, of); err != nil {
		return nil, err
	}
	root.walk.addFields(root)
	return root, nil
}

// foreignIn returns a struct of the API that is not of Kubernetes and whose fields are read one by
// one, or nil if there is none.
func foreignIn(n *fields.Node) reflect.Type {
	if n.Own != nil && !fields.IsKubernetes(n.Type) {
		return n.Type
	}
	for _, child := range n.Children {
		if foreign := foreignIn(child); foreign != nil {
			return foreign
		}
	}
	return nil
}

// newPartialPlan returns a plan without fields.
func newPartialPlan(t reflect.Type) *messagePlan {
	return &messagePlan{goType: t, name: t.Name(), walk: &walk{}}
}

// addMetadata adds the metadata of an object without managedFields.
func (c *compiler) addMetadata(root *messagePlan, of *fields.Partial) error {
	whole := c.plan(reflect.TypeFor[metav1.ObjectMeta]())
	api, _ := of.Root.Type.FieldByName("ObjectMeta")
	number, supported := fieldNumber(api)
	if number == 0 || !supported || whole.custom != nil {
		return fmt.Errorf("%s has no metadata", of.Root.Type)
	}
	metadata := newPartialPlan(whole.goType)
	metadata.fields = slices.Clone(whole.fields)
	managedFields, _ := whole.goType.FieldByName("ManagedFields")
	omitted, _ := fieldNumber(managedFields)
	metadata.fields[omitted] = nil
	metadata.walk.addFields(metadata)
	own, _ := of.Type.FieldByName("ObjectMeta")
	return addNew(root, number, &fieldPlan{name: own.Name, offset: own.Offset, goType: own.Type, wire: protowire.TypeBytes, op: opMessage, message: metadata})
}

// addNew adds a field whose number must be free.
func addNew(m *messagePlan, number int, f *fieldPlan) error {
	if !m.addField(number, f) {
		return fmt.Errorf("two fields have the number %d", number)
	}
	return nil
}

// addFields adds the fields at a node, which are those of a struct. A struct that the API inlines
// is a message of its own, which writes to the same value.
func (c *compiler) addFields(m *messagePlan, n *fields.Node, own reflect.Type) (err error) {
	for _, child := range n.Children {
		number, supported := fieldNumber(child.Field)
		if !supported {
			return fmt.Errorf("the protobuf tag of %s is not supported", child.Field.Name)
		}
		if number == 0 {
			continue
		}
		f := &fieldPlan{name: child.Field.Name, goType: child.Field.Type, wire: protowire.TypeBytes, op: opMessage}
		if child.Inline {
			f.message = newPartialPlan(f.goType)
			err = c.addFields(f.message, child, own)
			f.message.walk.addFields(f.message)
		} else {
			field := own.Field(child.OwnIndex)
			f.name, f.goType, f.offset = field.Name, field.Type, field.Offset
			if err = c.planPartial(f, child); err != nil {
				err = fmt.Errorf("%s: %w", f.name, err)
			}
			c.number(f)
		}
		if err == nil {
			err = addNew(m, number, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// planPartial is planField for a field that may have fewer fields than that of the API.
func (c *compiler) planPartial(f *fieldPlan, n *fields.Node) error {
	if n.Own == nil {
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
	if inner != n.Own {
		return fmt.Errorf("%s is not supported", f.goType)
	}
	var err error
	f.message, err = c.partialPlan(n)
	return err
}

// partialPlan returns the plan of a struct with fewer fields than that of the API.
func (c *compiler) partialPlan(n *fields.Node) (*messagePlan, error) {
	key := [2]reflect.Type{n.Own, n.Type}
	if m, ok := c.partials[key]; ok {
		m.recursive = m.recursive || m.open
		return m, nil
	}
	m := newPartialPlan(n.Own)
	c.partials[key] = m
	m.open = true
	err := c.addFields(m, n, n.Own)
	m.open = false
	m.walk.addFields(m)
	return m, err
}
