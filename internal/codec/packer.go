// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/layout"
	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/wire"
)

// object is what a Packer packs.
type object interface {
	runtime.Object
	metav1.Object
}

// Packer keeps the objects of a collection as bytes: protobuf where the server has it, otherwise
// JSON. The bytes of a streamed item in that format are checked and packed as they came. Objects of
// which only some fields are kept are JSON if they come in another way. It is safe for concurrent
// use.
type Packer struct {
	objects     ObjectType
	transformed func() bool
	packer      *pack.Packer
	format      wire.Format // of the bytes that the server sends
	codec       feed.Codec  // of stored bytes in format
	encoded     feed.Codec  // of the bytes of objects of which only some fields are kept and that are encoded here
	anyKind     bool        // the objects may be of several kinds
}

// NewPacker returns a packer of objects of a type, which its Unpack decodes with ShareEqual and
// Timing of the options. transformed reports whether a transform changes objects between the wire
// and the store, so that their wire bytes cannot be stored.
func NewPacker(objects ObjectType, options Options, transformed func() bool) *Packer {
	decoders := NewDecoders(objects, Options{ShareEqual: options.ShareEqual, Packed: true, Timing: options.Timing})
	p := &Packer{objects: objects, transformed: transformed, packer: pack.New(), format: objects.serverFormat()}
	p.anyKind = objects.IsUnstructured() && objects.GVK.Empty()
	if p.format == wire.Protobuf {
		p.codec = protobufCodec{decoders}
	} else {
		p.codec = &jsonCodec{decoders: decoders, gvk: objects.GVK}
	}
	if objects.Partial != nil {
		p.encoded = &jsonCodec{decoders: decoders, gvk: objects.GVK}
	}
	return p
}

// Pack packs an item against the other objects of its controller. value decodes the item. An item
// that cannot be decoded is an error, so that no reader finds it later. If its value has another
// type than the collection's objects, the error wraps pack.ErrUnsupported.
func (p *Packer) Pack(item feed.Item, old pack.Object, value func() (any, error)) (pack.Object, error) {
	if p.canStore(item) {
		parsed, err := p.parse(item)
		if err != nil {
			return pack.Object{}, err
		}
		if p.hasKind(parsed) {
			if err := p.check(item, value); err != nil {
				return pack.Object{}, err
			}
			controller, err := parsed.ControllerUID()
			if err != nil {
				return pack.Object{}, err
			}
			return p.packAsDecoded(item, &parsed, controller, old), nil
		}
	}
	decoded, err := value()
	if err != nil {
		return pack.Object{}, err
	}
	obj, ok := decoded.(object)
	if !ok || reflect.TypeOf(decoded) != p.objects.KeptType() {
		return pack.Object{}, fmt.Errorf("%w: %T, not %s", pack.ErrUnsupported, decoded, p.objects)
	}
	raw, err := p.encode(obj)
	if err != nil {
		return pack.Object{}, fmt.Errorf("encode for packing: %w", err)
	}
	return p.packer.Pack(raw, controllerUID(obj), old, p.excerptOf(raw)), nil
}

// excerptOf returns the place of the labels in encoded bytes, none if it is not known.
func (p *Packer) excerptOf(raw []byte) pack.Excerpt {
	parsed, err := wire.Parse(raw, p.storedFormat(raw))
	if err != nil {
		return pack.Excerpt{}
	}
	_, at, _ := parsed.Identify()
	return excerptAt(at)
}

// excerptAt is excerptOf for bytes of a layout, which is zero if it is not known.
func excerptAt(at layout.Object) pack.Excerpt {
	return pack.Excerpt{Start: int(at.Labels.Start), End: int(at.Labels.End), Known: at.Length > 0}
}

// parse returns an item's bytes as a wire.Item. It parses them only if their layout is not known.
func (p *Packer) parse(item feed.Item) (wire.Item, error) {
	if located, ok := wire.Located(item.Raw, p.format, item.Layout); ok {
		return located, nil
	}
	return wire.Parse(item.Raw, p.format)
}

// packAsDecoded packs the bytes of an item so that Unpack returns the object that the item's codec
// decodes.
func (p *Packer) packAsDecoded(item feed.Item, parsed *wire.Item, controller string, old pack.Object) pack.Object {
	at := item.Layout
	if !at.Fits(item.Raw) {
		_, at, _ = parsed.Identify()
	}
	if c, ok := item.Codec.(*jsonCodec); !ok || !c.clearKind || parsed.Kind == "" && parsed.APIVersion == "" {
		return p.packer.Pack(item.Raw, controller, old, excerptAt(at))
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	*buffer = parsed.AppendWithoutKind((*buffer)[:0])
	return p.packer.Pack(*buffer, controller, old, excerptAt(at))
}

// check returns the error with which a reader would fail to decode an item whose bytes are stored
// as they came and, in JSON, are valid. It decodes only typed objects in JSON.
func (p *Packer) check(item feed.Item, value func() (any, error)) error {
	if limited, ok := item.Codec.(interface{ checkMemory(raw []byte) error }); ok {
		if err := limited.checkMemory(item.Raw); err != nil {
			return err
		}
	}
	switch c := p.codec.(type) {
	case protobufCodec:
		return c.check(item.Raw)
	case *jsonCodec:
		if p.objects.GoType == reflect.TypeFor[*unstructured.Unstructured]() && p.objects.Partial == nil {
			if item.Layout.SmallNumbers && item.Layout.Fits(item.Raw) {
				return nil
			}
			return withoutValues(c.decoders.json.Check(item.Raw))
		}
	}
	_, err := value()
	return err
}

// canStore reports whether the bytes of an item are those to store.
func (p *Packer) canStore(item feed.Item) bool {
	if len(item.Raw) == 0 || p.transformed() || p.storedFormat(item.Raw) != p.format {
		return false
	}
	switch item.Codec.(type) {
	case protobufCodec:
		return p.format == wire.Protobuf
	case *jsonCodec:
		return p.format == wire.JSON
	}
	return false
}

// hasKind reports whether an object can be decoded on its own. An unstructured object cannot if
// only its list states the kind.
func (p *Packer) hasKind(parsed wire.Item) bool {
	return parsed.Kind != "" || !p.anyKind
}

// codecOf returns the codec of stored bytes.
func (p *Packer) codecOf(raw []byte) feed.Codec {
	if p.storedFormat(raw) == p.format {
		return p.codec
	}
	return p.encoded
}

// storedFormat returns the format of stored bytes.
func (p *Packer) storedFormat(raw []byte) wire.Format {
	return p.objects.storedFormat(raw, p.format)
}

// storedFormat returns the format of stored bytes: that of the server, except for objects of which
// only some fields are kept and which a Packer has encoded. Only objects in JSON begin with a
// brace: in protobuf, it would begin a group, which the API has nowhere.
func (t ObjectType) storedFormat(raw []byte, server wire.Format) wire.Format {
	if t.Partial != nil && len(raw) > 0 && raw[0] == '{' {
		return wire.JSON
	}
	return server
}

// serverFormat returns the format in which an informer that streams receives the objects.
func (t ObjectType) serverFormat() wire.Format {
	if t.IsGenerated() {
		return wire.Protobuf
	}
	return wire.JSON
}

func controllerUID(obj metav1.Object) string {
	if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
		return string(owner.UID)
	}
	return ""
}

// marshaler is implemented by generated API types.
type marshaler interface{ Marshal() ([]byte, error) }

func (p *Packer) encode(obj object) ([]byte, error) {
	if p.objects.Partial != nil {
		return EncodePartial(obj, obj.GetObjectKind().GroupVersionKind())
	}
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		if o.GetKind() == "" && !p.objects.GVK.Empty() { // decoding would add the collection's
			return nil, inField("kind", errNoKind)
		}
		return encodeUnstructured(o)
	case marshaler:
		if p.format == wire.Protobuf {
			return o.Marshal()
		}
	}
	return json.Marshal(obj)
}

// buffers hold the bytes of an object while it is packed or unpacked.
var buffers = sync.Pool{New: func() any { return new([]byte) }} //nolint:gochecknoglobals // one pool serves all packers

// withBytes calls use with the bytes that were packed, which are valid during the call.
func withBytes(packed pack.Object, use func(raw []byte) error) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	raw, err := packed.Unpack((*buffer)[:0])
	if err != nil {
		return err
	}
	*buffer = raw
	return use(raw)
}

// Unpack decodes a packed object.
func (p *Packer) Unpack(packed pack.Object) (obj any, err error) {
	err = withBytes(packed, func(raw []byte) error {
		obj, err = Decode[object](feed.Item{Raw: raw, Codec: p.codecOf(raw)})
		return err
	})
	return obj, err
}

// UnpackUpdate decodes two packed states of an object, which share equal parts: see
// decode.Decoder.DecodeUpdate. It returns an error if one cannot be decoded, or is not decoded from
// protobuf as a whole.
func (p *Packer) UnpackUpdate(old, updated pack.Object) (states [2]any, err error) {
	c, ok := p.codec.(protobufCodec)
	if !ok {
		return states, errors.ErrUnsupported
	}
	err = withBytes(old, func(oldRaw []byte) error {
		return withBytes(updated, func(newRaw []byte) error {
			if p.storedFormat(oldRaw) != p.format || p.storedFormat(newRaw) != p.format {
				return errors.ErrUnsupported
			}
			states[0], states[1], err = c.decodeUpdate(oldRaw, newRaw)
			return err
		})
	})
	return states, err
}

var errNoLabels = errors.New("the place of the labels is not known")

// Labels returns the labels of a packed object without decoding the object. All objects of a
// pack.ExcerptGroup have equal labels. It returns an error if their place is not known.
func (p *Packer) Labels(packed pack.Object) (labels map[string]string, err error) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	excerpt, ok, err := packed.AppendExcerpt((*buffer)[:0])
	if *buffer = excerpt; err != nil {
		return nil, err
	}
	if !ok {
		return nil, errNoLabels
	}
	return wire.ReadLabels(excerpt)
}

// Decode returns an item's object, or an error if it is not a T.
func Decode[T any](item feed.Item) (T, error) {
	decoded, err := item.Decoded()
	if err != nil {
		var none T
		return none, err
	}
	obj, ok := decoded.(T)
	if !ok {
		return obj, fmt.Errorf("expected %T, got %T", obj, decoded)
	}
	if !item.IsDecoded() {
		shareIdentity(obj, item)
	}
	return obj, nil
}

// shareIdentity lets an object that was decoded from an item's bytes use the strings of the item's
// identity, of which a store keeps the key. The identity is one string.
func shareIdentity(obj any, item feed.Item) {
	accessor, ok := obj.(metav1.ObjectMetaAccessor)
	if !ok {
		return
	}
	meta, ok := accessor.GetObjectMeta().(*metav1.ObjectMeta)
	if !ok {
		return
	}
	if name := item.Key[strings.LastIndexByte(item.Key, '/')+1:]; meta.Name == name {
		meta.Name = name
	}
	if meta.UID == types.UID(item.UID) {
		meta.UID = types.UID(item.UID)
	}
	if meta.ResourceVersion == item.ResourceVersion {
		meta.ResourceVersion = item.ResourceVersion
	}
}
