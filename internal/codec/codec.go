// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/kinformer/kinformer/internal/decode"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/fields"
	"github.com/kinformer/kinformer/internal/wire"
)

// Options say what is decoded of objects, and how decoded objects share memory.
type Options struct {
	// ShareEqual lets objects share equal maps, slices and sub-messages, which must not be written
	// into then. Strings and managedFields bytes are always shared.
	ShareEqual bool
	// Packed says that few decoded objects exist at a time, so that small tables suffice.
	Packed bool
	// Omit are the fields that decoded objects lack.
	Omit *fields.Omitted
	// Timing, if set, measures the decoding.
	Timing *Timing
	// Decoded bounds the memory that decoding an object allocates.
	Decoded DecodedLimit
}

func (o Options) withoutOmit() Options {
	o.Omit = nil
	return o
}

// Decoders decodes the objects of one collection so that their equal parts are in memory once.
// All requests of a source use the same Decoders: objects of a watch share with those of the list.
// It is safe for concurrent use.
type Decoders struct {
	objects  ObjectType
	options  Options
	protobuf func() (protobufDecoder, error) // made on first use
	json     *decode.JSON
	// hasQuantities reports whether objects in JSON have quantities.
	hasQuantities func() bool
	memoryCheck   memoryCheck
	// whole returns the decoders of whole objects, of which fields are cleared and copied. It is
	// called only with Partial.
	whole func() *Decoders
}

// NewDecoders returns decoders of objects of a type.
func NewDecoders(objects ObjectType, options Options) *Decoders {
	shared := decode.Options{ShareEqual: options.ShareEqual, SmallTables: options.Packed}
	return &Decoders{
		objects:     objects,
		options:     options,
		memoryCheck: newMemoryCheck(objects, options.Decoded),
		protobuf: sync.OnceValues(func() (protobufDecoder, error) {
			return objects.protobufDecoder(shared)
		}),
		json:  decode.NewJSON(shared),
		whole: sync.OnceValue(func() *Decoders { return NewDecoders(objects.whole(), options.withoutOmit()) }),
		hasQuantities: sync.OnceValue(func() bool {
			return contains(objects.KeptType(), func(t reflect.Type) bool { return t == reflect.TypeFor[resource.Quantity]() }, map[reflect.Type]bool{})
		}),
	}
}

// protobufCodec decodes messages of a generated type. Decoded objects do not reference the bytes.
type protobufCodec struct{ decoders *Decoders }

var _ feed.Codec = protobufCodec{}

func (c protobufCodec) Decode(raw []byte) (runtime.Object, error) {
	decoder, err := c.decoders.protobuf()
	if err != nil {
		return nil, err
	}
	if err := c.checkMemory(raw); err != nil {
		return nil, err
	}
	defer c.decoders.options.Timing.end(c.decoders.options.Timing.begin(), 1)
	obj, err := decoder.Decode(raw)
	if err != nil {
		return nil, c.wrap(err)
	}
	return obj.(runtime.Object), nil
}

// decodeUpdate decodes two states of an object, which share equal parts. It returns an error if one
// cannot be decoded, or if decoded objects are copies of fields of whole objects.
func (c protobufCodec) decodeUpdate(oldRaw, newRaw []byte) (old, updated any, err error) {
	decoder, err := c.decoders.protobuf()
	if err != nil {
		return nil, nil, err
	}
	direct, ok := decoder.(*decode.Decoder)
	if !ok {
		return nil, nil, errors.ErrUnsupported
	}
	began := c.decoders.options.Timing.begin()
	defer c.decoders.options.Timing.end(began, 2)
	return direct.DecodeUpdate(oldRaw, newRaw)
}

// check returns the error that Decode returns. It builds no object.
func (c protobufCodec) check(raw []byte) error {
	decoder, err := c.decoders.protobuf()
	if err == nil {
		err = decoder.Check(raw)
	}
	if err != nil {
		return c.wrap(err)
	}
	return nil
}

// checkMemory returns an error if decoding raw would allocate too much.
func (c protobufCodec) checkMemory(raw []byte) error {
	decoder, err := c.decoders.protobuf()
	if err != nil {
		return nil //nolint:nilerr // Decode returns it
	}
	check := c.decoders.memoryCheck
	if copying, ok := decoder.(copyingDecoder); ok {
		check.largest = copying.largest
	}
	return check.run(raw, func(limit int) int { return decoder.Allocates(raw, limit) })
}

func (c protobufCodec) wrap(err error) error {
	return fmt.Errorf("decode %s from protobuf: %w", c.decoders.objects.GoType, err)
}

// jsonCodec decodes JSON as client-go does: field names are case-sensitive, and whole numbers of
// unstructured objects become int64.
type jsonCodec struct {
	decoders *Decoders
	gvk      schema.GroupVersionKind // of unstructured objects that do not state it themselves
	// clearKind removes apiVersion and kind, as client-go's typed clients do from the objects of a
	// watch, so that an object is the same by list and by watch.
	clearKind bool
}

var _ feed.Codec = &jsonCodec{}

// checkMemory returns an error if decoding raw would allocate too much.
func (c *jsonCodec) checkMemory(raw []byte) error {
	check := c.decoders.memoryCheck
	return check.run(raw, func(limit int) int { return decode.JSONAllocates(raw, check.largest, limit) })
}

func (c *jsonCodec) Decode(raw []byte) (runtime.Object, error) {
	if err := c.checkMemory(raw); err != nil {
		return nil, err
	}
	defer c.decoders.options.Timing.end(c.decoders.options.Timing.begin(), 1)
	objects := c.decoders.objects
	if objects.GoType == reflect.TypeFor[*unstructured.Unstructured]() && objects.Partial == nil {
		return c.decodeUnstructured(raw)
	}
	goType := objects.KeptType()
	if c.decoders.hasQuantities() {
		if err := decode.CheckQuantities(raw); err != nil {
			return nil, fmt.Errorf("decode %s from JSON: %w", goType, err)
		}
	}
	obj, err := objects.decodeTyped(raw)
	if err != nil {
		return nil, fmt.Errorf("decode %s from JSON: %w", goType, withoutValues(err))
	}
	if c.clearKind {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	} else if !c.gvk.Empty() && obj.GetObjectKind().GroupVersionKind().Empty() {
		obj.GetObjectKind().SetGroupVersionKind(c.gvk)
	}
	return obj, nil
}

// decodeTyped decodes an object of a Go struct from JSON.
func (t ObjectType) decodeTyped(raw []byte) (runtime.Object, error) {
	if t.Partial != nil {
		return t.decodePartial(raw)
	}
	obj := reflect.New(t.GoType.Elem()).Interface().(runtime.Object)
	return obj, kjson.UnmarshalCaseSensitivePreserveInts(raw, obj)
}

func (c *jsonCodec) decodeUnstructured(raw []byte) (runtime.Object, error) {
	object, err := c.decoders.json.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("decode unstructured object from JSON: %w", withoutValues(err))
	}
	u := &unstructured.Unstructured{Object: object}
	if u.GetKind() == "" && !c.gvk.Empty() {
		u.SetGroupVersionKind(c.gvk)
	}
	return u, nil
}

// Codecs selects the codec of each item of one response. It is not safe for concurrent use; the
// codecs it returns are.
type Codecs struct {
	decoders  *Decoders
	protobuf  feed.Codec
	json      feed.Codec
	kind      string // of the objects that json decodes
	needsKind bool   // see NeedsKind
}

// ForList returns the codecs of a LIST response's items.
func (d *Decoders) ForList() *Codecs { return d.codecs(false) }

// ForWatch returns the codecs of a WATCH response's objects.
func (d *Decoders) ForWatch() *Codecs { return d.codecs(!d.objects.IsUnstructured()) }

func (d *Decoders) codecs(clearKind bool) *Codecs {
	return &Codecs{
		decoders:  d,
		protobuf:  d.protobufCodec(),
		json:      d.omitting(&jsonCodec{decoders: d, gvk: d.objects.GVK, clearKind: clearKind}, d.options.Omit),
		kind:      d.objects.GVK.Kind,
		needsKind: d.objects.IsUnstructured() && d.objects.GVK.Empty(),
	}
}

// protobufCodec returns the codec of protobuf. The decoder itself skips the fields that are not
// kept; they are cut out of the bytes only if these are to be stored, or more is to be omitted.
func (d *Decoders) protobufCodec() feed.Codec {
	if d.objects.Partial != nil && !d.options.Packed && !d.options.Omit.OmitsKept() {
		return protobufCodec{d}
	}
	return d.omitting(protobufCodec{d}, d.options.Omit)
}

// Objects returns the type of the objects.
func (c *Codecs) Objects() ObjectType { return c.decoders.objects }

// NeedsKind reports whether each item has to state its kind: the collection's type does not.
func (c *Codecs) NeedsKind() bool { return c.needsKind }

// For returns the codec of an item.
func (c *Codecs) For(item *wire.Item) feed.Codec {
	if item.Format == wire.Protobuf {
		return c.protobuf
	}
	if c.needsKind && item.Kind != c.kind {
		// The list states the kind, so the following items are of it too.
		gvk := schema.FromAPIVersionAndKind(item.APIVersion, item.Kind)
		c.json, c.kind = c.decoders.omitting(&jsonCodec{decoders: c.decoders, gvk: gvk}, c.decoders.options.Omit), item.Kind
	}
	return c.json
}

// contains reports whether a value of type t may contain one of a type that is wanted. seen has the
// types that were looked into.
func contains(t reflect.Type, wanted func(reflect.Type) bool, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	if wanted(t) {
		return true
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return contains(t.Elem(), wanted, seen)
	case reflect.Struct:
		for field := range t.Fields() {
			if contains(field.Type, wanted, seen) {
				return true
			}
		}
	default:
	}
	return false
}
