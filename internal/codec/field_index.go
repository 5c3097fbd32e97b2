// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/omit"
	"github.com/kinformer/kinformer/internal/partial"
	"github.com/kinformer/kinformer/internal/wire"
)

// FieldIndex returns the values of one field of a collection's objects as text. It is safe for
// concurrent use.
type FieldIndex struct {
	names  []string // on the way to the field
	reader *FieldReader
	fields reflect.Type // the struct that reader fills; nil for unstructured objects, whose types are not known
}

// NewFieldIndex returns an index by the field at a path, such as "spec.nodeName".
func NewFieldIndex(objects ObjectType, path string) (*FieldIndex, error) {
	names, err := partial.ParsePath(path)
	if err != nil {
		return nil, err
	}
	x := &FieldIndex{names: names}
	switch {
	case objects.GoType == nil:
		return nil, errUnknownType
	case objects.Partial != nil:
		x.fields, err = partial.PathType(objects.Partial.Fields.Root.Type, names)
	case !objects.IsUnstructured():
		x.fields, err = partial.PathType(objects.GoType.Elem(), names)
	default:
		x.reader = &FieldReader{objects: objects}
		x.reader.wanted, err = omit.NewKeeping(objects.GoType, [][]string{names}, nil)
		return x, err
	}
	if err == nil {
		x.reader, err = NewFieldReader(objects, x.fields)
	}
	return x, err
}

// Omitted returns an error if the field is omitted from the objects.
func (x *FieldIndex) Omitted(omitted *omit.Fields) error {
	if path, ok := omitted.Cuts(x.names); ok {
		return fmt.Errorf("OmitFields %q leaves it out", path)
	}
	return nil
}

// OfItem returns the values of an item's object, which it does not decode.
func (x *FieldIndex) OfItem(item feed.Item) ([]string, error) {
	if item.Object != nil || len(item.Raw) == 0 {
		obj, err := item.Decoded()
		if err != nil {
			return nil, err
		}
		return x.OfObject(obj)
	}
	if x.fields == nil {
		return x.untyped(item.Raw)
	}
	return x.values(func(into any) error { return x.reader.readBytes(item.Raw, formatOf(item.Codec), into) })
}

// formatOf returns the format of a codec's bytes.
func formatOf(codec feed.Codec) wire.Format {
	switch c := codec.(type) {
	case protobufCodec:
		return wire.Protobuf
	case *omittingCodec:
		return c.format
	default:
		return wire.JSON
	}
}

// OfObject returns the values of a kept object.
func (x *FieldIndex) OfObject(obj any) ([]string, error) {
	if u, ok := obj.(runtime.Unstructured); ok && x.fields == nil {
		return appendUntyped(nil, u.UnstructuredContent(), x.names)
	}
	return x.values(func(into any) error { return x.reader.readObject(obj, into) })
}

func (x *FieldIndex) values(read func(into any) error) ([]string, error) {
	into := reflect.New(x.fields).Interface()
	if err := read(into); err != nil {
		return nil, err
	}
	return partial.PathValues(nil, into), nil
}

// untyped returns the values of an unstructured object in JSON.
func (x *FieldIndex) untyped(raw []byte) ([]string, error) {
	var object map[string]any
	err := x.reader.withWanted(raw, func(cut []byte) error {
		return withoutValues(kjson.UnmarshalCaseSensitivePreserveInts(cut, &object))
	})
	if err != nil {
		return nil, err
	}
	return appendUntyped(nil, object, x.names)
}

// appendUntyped appends the values at the end of names in a part of an unstructured object: all but
// null, and one for each element of a list.
func appendUntyped(values []string, part any, names []string) (_ []string, err error) {
	switch part := part.(type) {
	case nil:
		return values, nil
	case []any:
		for _, element := range part {
			if values, err = appendUntyped(values, element, names); err != nil {
				return nil, err
			}
		}
		return values, nil
	case map[string]any:
		if len(names) == 0 {
			return nil, errIsObject
		}
		return appendUntyped(values, part[names[0]], names[1:])
	case string:
		return appendScalar(values, part, names), nil
	case bool:
		return appendScalar(values, strconv.FormatBool(part), names), nil
	default:
		text, err := json.Marshal(part)
		return appendScalar(values, string(text), names), err
	}
}

var errUnknownType = errors.New("the type of the objects is not known")

var errIsObject = errors.New("the field is an object, which has no value")

// appendScalar appends a value, unless names lead to a field of it.
func appendScalar(values []string, text string, names []string) []string {
	if len(names) > 0 {
		return values
	}
	return append(values, text)
}
