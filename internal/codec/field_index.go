// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/kinformer/kinformer/internal/decode"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/fields"
	"github.com/kinformer/kinformer/internal/layout"
	"github.com/kinformer/kinformer/internal/wire"
)

// FieldIndex returns the values of one field of a collection's objects as text: of objects, and of
// their bytes, without decoding the rest. It is safe for concurrent use.
type FieldIndex struct {
	objects  ObjectType
	names    []string        // on the way to the field
	wanted   *fields.Omitted // leaves metadata and the field of objects in JSON
	kept     *fields.Partial // the field in objects that are kept; nil for unstructured objects, whose types are not known
	protobuf func() (func(raw []byte, into any) error, error)
}

// NewFieldIndex returns an index by the field at a path, such as "spec.nodeName".
func NewFieldIndex(objects ObjectType, path string) (*FieldIndex, error) {
	names, err := fields.ParseNames(path)
	if err != nil {
		return nil, err
	}
	x := &FieldIndex{objects: objects, names: names}
	switch {
	case objects.GoType == nil:
		return nil, errUnknownType
	case objects.Partial == nil && objects.IsUnstructured():
		x.wanted, err = fields.Keep(fields.UntypedPath(names), nil)
	default:
		err = x.resolve()
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

// resolve finds the field in the objects that the server sends, and in those that are kept.
func (x *FieldIndex) resolve() error {
	kept := x.objects.GoType.Elem()
	if x.objects.Partial != nil {
		kept = x.objects.Partial.Root.Own
	}
	own, err := fields.PathType(kept, x.names)
	if err != nil {
		return err
	}
	encoded, err := fields.Resolve(x.objects.GoType, own)
	if err != nil {
		return err
	}
	if x.kept = encoded; x.objects.Partial != nil {
		if x.kept, err = x.objects.Partial.Part(own); err != nil {
			return err
		}
	}
	x.protobuf = sync.OnceValues(func() (func(raw []byte, into any) error, error) {
		return readerOfBytes(x.objects.GoType, encoded)
	})
	x.wanted, err = fields.Keep(encoded, nil)
	return err
}

// Omitted returns an error if the field is omitted from the objects.
func (x *FieldIndex) Omitted(omitted *fields.Omitted) error {
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
	if x.kept == nil {
		return x.untyped(item.Raw)
	}
	return x.values(func(into any) error { return x.readBytes(item.Raw, formatOf(item.Codec), into) })
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
	if u, ok := obj.(runtime.Unstructured); ok && x.kept == nil {
		return appendUntyped(nil, u.UnstructuredContent(), x.names)
	}
	if x.objects.Partial != nil {
		obj = reflect.ValueOf(obj).Elem().FieldByName("Fields").Addr().Interface()
	}
	return x.values(func(into any) error {
		x.kept.Copy(into, obj)
		return nil
	})
}

func (x *FieldIndex) values(read func(into any) error) ([]string, error) {
	into := reflect.New(x.kept.Type).Interface()
	if err := read(into); err != nil {
		return nil, err
	}
	return fields.PathValues(nil, into), nil
}

// readBytes reads the field from an object's bytes.
func (x *FieldIndex) readBytes(raw []byte, format wire.Format, into any) error {
	if format == wire.JSON {
		return x.readJSON(raw, into)
	}
	read, err := x.protobuf()
	if err != nil {
		return err
	}
	return read(raw, into)
}

// readJSON cuts the field out before it decodes it, which takes a fraction of the time. It decodes
// an object that cannot be cut as a whole.
func (x *FieldIndex) readJSON(raw []byte, into any) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	cut, ok := x.wanted.AppendJSON((*buffer)[:0], raw, layout.Object{})
	if *buffer = cut.Bytes; ok {
		raw = cut.Bytes
	}
	return withoutValues(kjson.UnmarshalCaseSensitivePreserveInts(raw, into))
}

// readerOfBytes returns a function that reads fields of objects in protobuf: those of a type whose
// fields cannot be decoded apart from whole objects.
func readerOfBytes(goType reflect.Type, of *fields.Partial) (func(raw []byte, into any) error, error) {
	options := decode.Options{SmallTables: true, OwnStrings: true} // an index shares its values
	if decoder, err := decode.NewPartial(of, options); err == nil {
		return func(raw []byte, into any) error { return decoder.DecodeInto(into, raw) }, nil
	}
	whole, err := decode.New(goType.Elem(), options)
	if err != nil {
		return nil, err
	}
	return func(raw []byte, into any) error {
		obj, err := whole.Decode(raw)
		if err == nil {
			of.Copy(into, obj)
		}
		return err
	}, nil
}

// untyped returns the values of an unstructured object in JSON.
func (x *FieldIndex) untyped(raw []byte) ([]string, error) {
	var object map[string]any
	if err := x.readJSON(raw, &object); err != nil {
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
