// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/kinformer/kinformer/internal/decode"
	"github.com/kinformer/kinformer/internal/fields"
	"github.com/kinformer/kinformer/internal/layout"
	"github.com/kinformer/kinformer/internal/testing/randomapi"
)

// partialCase is a random object, and a struct with some of its fields.
type partialCase struct {
	name   string
	random *rand.Rand
	object randomapi.Object
	of     *fields.Partial
}

// partialCases calls test for random objects and structs of every type of client-go's scheme.
func partialCases(t *testing.T, test func(t *testing.T, c partialCase)) {
	t.Helper()
	for i, goType := range randomapi.Types(t) {
		for j := range partialsPerType {
			seed := i*partialsPerType + j
			c := partialCase{name: fmt.Sprintf("%s, seed %d", goType, seed), random: rand.New(rand.NewPCG(uint64(seed), 1)), object: randomapi.New(goType, int64(seed))}
			own := randomapi.Fields(c.random, goType)
			resolved, err := fields.Resolve(goType, own)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			c.of = resolved.WithMetadata(randomapi.KeptType(own))
			test(t, c)
		}
	}
}

// equal fails the test if a decoded object, or its error, is not the wanted one.
func (c partialCase) equal(t *testing.T, way string, got any, err error, want any, raw []byte) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s, %s: %v\n%s\n%q", c.name, way, err, c.of.Type, raw)
	}
	if !reflect.DeepEqual(got, want) {
		everything := cmp.Exporter(func(reflect.Type) bool { return true })
		t.Fatalf("%s, %s: (-want +got)\n%s\n%s\n%q", c.name, way, cmp.Diff(want, got, everything), c.of.Type, raw)
	}
}

// unmarshal returns the object that generated code decodes.
func (c partialCase) unmarshal(raw []byte) (randomapi.Object, error) {
	whole := reflect.New(reflect.TypeOf(c.object).Elem()).Interface().(randomapi.Object)
	return whole, whole.Unmarshal(raw)
}

// unmarshalJSON returns the object that client-go decodes.
func (c partialCase) unmarshalJSON(raw []byte) (randomapi.Object, error) {
	whole := reflect.New(reflect.TypeOf(c.object).Elem()).Interface().(randomapi.Object)
	return whole, kjson.UnmarshalCaseSensitivePreserveInts(raw, whole)
}

// keeping returns the fields that are cut out of the object's bytes.
func (c partialCase) keeping(t *testing.T, goType reflect.Type) *fields.Omitted {
	t.Helper()
	kept, err := fields.Resolve(goType, c.of.Root.Own)
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	omitted, err := fields.Keep(kept, nil)
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	return omitted
}

// protobuf returns encodings of the object.
func (c partialCase) protobuf(t *testing.T) [][]byte {
	t.Helper()
	raw, _ := randomapi.Encode(t, c.object)
	varied := randomapi.VaryProtobuf(c.random, reflect.TypeOf(c.object).Elem(), raw)
	return [][]byte{raw, varied, append(slices.Clip(raw), varied...)}
}

// json returns encodings of the object.
func (c partialCase) json(t *testing.T) [][]byte {
	t.Helper()
	_, raw := randomapi.Encode(t, c.object)
	return [][]byte{raw, randomapi.VaryJSON(c.random, raw), randomapi.VaryJSON(c.random, raw)}
}

// TestPartialProtobufEqualsCopyOfWholeObject decodes some fields of objects, also of bytes of which
// the other fields were cut out, and copies the same fields from what generated code decodes.
func TestPartialProtobufEqualsCopyOfWholeObject(t *testing.T) {
	compared := 0
	partialCases(t, func(t *testing.T, c partialCase) {
		t.Helper()
		var decoders []*decode.Decoder
		for _, options := range []decode.Options{{}, {ShareEqual: true}} {
			decoder, err := decode.NewPartial(c.of, options)
			if err != nil {
				t.Fatalf("%s: %v\n%s", c.name, err, c.of.Type)
			}
			decoders = append(decoders, decoder)
		}
		keeping := c.keeping(t, reflect.TypeOf(c.object))
		for _, raw := range c.protobuf(t) {
			whole, err := c.unmarshal(raw)
			if err != nil {
				continue
			}
			compared++
			want := c.of.Of(whole)
			edited, ok := keeping.AppendProtobuf(nil, raw, layout.Object{})
			for i, decoder := range decoders {
				for range 2 { // the second time, values are shared
					c.equal(t, fmt.Sprintf("decoder %d", i), nil, decoder.Check(raw), nil, raw)
					got, err := decoder.Decode(raw)
					c.equal(t, fmt.Sprintf("decoder %d", i), got, err, want, raw)
					if ok {
						got, err = decoder.Decode(edited.Bytes)
						c.equal(t, fmt.Sprintf("decoder %d after cutting", i), got, err, want, raw)
					}
				}
			}
		}
	})
	if compared < 400 {
		t.Errorf("compared %d encodings, want at least 400", compared)
	}
}

// decodeInto decodes an object of some fields from JSON.
func (c partialCase) decodeJSON(raw []byte) (any, error) {
	result := reflect.New(c.of.Type)
	return result.Interface(), decodePartialInto(result.Elem(), raw)
}

// TestPartialJSONEqualsCopyOfWholeObject is TestPartialProtobufEqualsCopyOfWholeObject for JSON. It
// also encodes the result as the packer does.
func TestPartialJSONEqualsCopyOfWholeObject(t *testing.T) {
	compared, edits := 0, 0
	partialCases(t, func(t *testing.T, c partialCase) {
		t.Helper()
		for _, raw := range c.json(t) {
			whole, err := c.unmarshalJSON(raw)
			if err != nil {
				continue
			}
			compared++
			want := c.of.Of(whole)
			got, err := c.decodeJSON(raw)
			c.equal(t, "JSON", got, err, want, raw)
			for _, goType := range []reflect.Type{reflect.TypeOf(c.object), reflect.TypeFor[*unstructured.Unstructured]()} {
				edited, ok := c.keeping(t, goType).AppendJSON(nil, raw, layout.Object{})
				if !ok { // duplicate members
					continue
				}
				edits++
				got, err = c.decodeJSON(edited.Bytes)
				c.equal(t, fmt.Sprintf("JSON of %s after cutting", goType), got, err, want, raw)
			}
		}
	})
	if compared < 400 || edits < compared {
		t.Errorf("compared %d encodings and %d edited ones, want at least 400 of both", compared, edits)
	}
}

// TestPartialObjectSurvivesEncoding encodes objects of some fields as the packer does if a
// transform has changed them.
func TestPartialObjectSurvivesEncoding(t *testing.T) {
	partialCases(t, func(t *testing.T, c partialCase) {
		t.Helper()
		raw := c.json(t)[0]
		kept, err := c.decodeJSON(raw)
		if err != nil {
			t.Fatal(err)
		}
		gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Example"}
		first, err := encodePartial(reflect.ValueOf(kept).Elem(), gvk)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		again, err := c.decodeJSON(first)
		if err != nil {
			t.Fatalf("%s: %v\n%q", c.name, err, first)
		}
		second, err := encodePartial(reflect.ValueOf(again).Elem(), gvk)
		c.equal(t, "encoded", string(second), err, string(first), raw)
		reflect.ValueOf(kept).Elem().FieldByName("TypeMeta").Set(reflect.ValueOf(metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Example"}))
		if !c.hasEmpty(reflect.ValueOf(kept)) {
			c.equal(t, "encoded", again, err, kept, raw)
		}
	})
}

// hasEmpty reports whether a value has a list or map that is empty, not nil, which the option
// omitempty loses.
func (c partialCase) hasEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && c.hasEmpty(v.Elem())
	case reflect.Slice, reflect.Map:
		if v.IsNil() || v.Len() == 0 {
			return !v.IsNil()
		}
		if v.Kind() == reflect.Map {
			for _, value := range v.Seq2() {
				if c.hasEmpty(value) {
					return true
				}
			}
			return false
		}
		for i := range v.Len() {
			if c.hasEmpty(v.Index(i)) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && c.hasEmpty(v.Field(i)) {
				return true
			}
		}
	default:
	}
	return false
}

// TestKeepListLeavesKeptFieldsAlone decodes whole objects from bytes of which all but some fields
// were cut out.
func TestKeepListLeavesKeptFieldsAlone(t *testing.T) {
	partialCases(t, func(t *testing.T, c partialCase) {
		t.Helper()
		keeping := c.keeping(t, reflect.TypeOf(c.object))
		for _, raw := range c.protobuf(t) {
			if edited, ok := keeping.AppendProtobuf(nil, raw, layout.Object{}); ok {
				c.compareCut(t, "protobuf", raw, edited.Bytes, c.unmarshal)
			}
		}
		for _, raw := range c.json(t) {
			if edited, ok := keeping.AppendJSON(nil, raw, layout.Object{}); ok {
				c.compareCut(t, "JSON", raw, edited.Bytes, c.unmarshalJSON)
			}
		}
	})
}

func (c partialCase) compareCut(t *testing.T, format string, raw, edited []byte, unmarshal func([]byte) (randomapi.Object, error)) {
	t.Helper()
	whole, err := unmarshal(raw)
	if err != nil {
		return
	}
	want := reflect.New(reflect.TypeOf(whole).Elem())
	from := reflect.ValueOf(whole).Elem()
	whole.SetManagedFields(nil)
	for _, name := range []string{"TypeMeta", "ObjectMeta"} {
		want.Elem().FieldByName(name).Set(from.FieldByName(name))
	}
	keepStruct(want.Elem(), from, c.of.Root)
	got, err := unmarshal(edited)
	c.equal(t, format+" after cutting", got, err, want.Interface(), raw)
}

// keepStruct sets the fields of an API struct that a struct has.
func keepStruct(to, from reflect.Value, n *fields.Node) {
	for _, child := range n.Children {
		keepValue(to.FieldByIndex(child.Field.Index), from.FieldByIndex(child.Field.Index), child)
	}
}

// keepValue sets a value of which only the fields of a struct are kept, unless that is nil or has
// no fields.
func keepValue(to, from reflect.Value, n *fields.Node) {
	switch {
	case len(n.Children) == 0 || from.Kind() == reflect.Map:
		to.Set(from)
	case from.Kind() == reflect.Struct:
		keepStruct(to, from, n)
	case from.IsNil():
	case from.Kind() == reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		keepValue(to.Elem(), from.Elem(), n)
	default:
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			keepValue(to.Index(i), from.Index(i), n)
		}
	}
}
