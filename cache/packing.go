package cache

import (
	"encoding/json"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/store"
	"github.com/kinformer/kinformer/internal/wire"
)

// packing keeps the objects of a collection as bytes: protobuf where T is a generated
// type, else JSON. What a stream brings in that format goes into the entry as it
// came. It is safe for concurrent use.
type packing[T Object] struct {
	kind        kind
	transformed bool // what came is not what is to be kept
	packer      *pack.Packer
	format      wire.Format
	codec       feed.Codec // of what is kept
}

var _ store.Packer[Object] = (*packing[Object])(nil)

func newPacking[T Object](k kind, transformed bool) *packing[T] {
	k.packed = true
	shared := newSharing(k)
	p := &packing[T]{kind: k, transformed: transformed, packer: pack.New()}
	if k.isGenerated() {
		p.format, p.codec = wire.Protobuf, protobufCodec{k.goType, shared}
	} else {
		p.format, p.codec = wire.JSON, &jsonCodec{sharing: shared, goType: k.goType, gvk: k.gvk}
	}
	return p
}

// Pack packs an item against its siblings: the objects that have the same controller.
func (p *packing[T]) Pack(item feed.Item, old pack.Object, value func() (T, error)) (pack.Object, error) {
	if p.asCame(item) {
		cut, err := wire.Parse(item.Raw, p.format)
		if err != nil {
			return pack.Object{}, err
		}
		if p.saysKind(cut) {
			lineage, err := cut.Lineage()
			if err != nil {
				return pack.Object{}, err
			}
			return p.packer.Pack(item.Raw, lineage.Controller, old), nil
		}
	}
	obj, err := value()
	if err != nil {
		return pack.Object{}, err
	}
	raw, err := p.encode(obj)
	if err != nil {
		return pack.Object{}, fmt.Errorf("encode for packing: %w", err)
	}
	return p.packer.Pack(raw, controllerOf(obj), old), nil
}

// asCame tells whether an item carries the bytes that are to be kept.
func (p *packing[T]) asCame(item feed.Item) bool {
	if item.Raw == nil || p.transformed {
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

// saysKind tells whether an object can be decoded by itself. One of many kinds whose
// kind the list alone says cannot.
func (p *packing[T]) saysKind(cut wire.Item) bool {
	return cut.Kind != "" || !p.kind.gvk.Empty() || !carriesKind(p.kind.goType)
}

func controllerOf(obj metav1.Object) string {
	if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
		return string(owner.UID)
	}
	return ""
}

// marshaler is what generated API types have.
type marshaler interface{ Marshal() ([]byte, error) }

func (p *packing[T]) encode(obj T) ([]byte, error) {
	switch o := any(obj).(type) {
	case *unstructured.Unstructured:
		return json.Marshal(o.Object)
	case marshaler:
		if p.format == wire.Protobuf {
			return o.Marshal()
		}
	}
	return json.Marshal(obj)
}

// buffers are for the bytes between an entry and its object.
var buffers = sync.Pool{New: func() any { return new([]byte) }} //nolint:gochecknoglobals // a pool is one for all

// bytes calls use with the bytes that were packed.
func (p *packing[T]) bytes(object pack.Object, use func(raw []byte) error) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	raw, err := object.Unpack((*buffer)[:0])
	if err != nil {
		return err
	}
	*buffer = raw
	return use(raw)
}

// Unpack decodes a packed object.
func (p *packing[T]) Unpack(object pack.Object) (obj T, err error) {
	err = p.bytes(object, func(raw []byte) error {
		obj, err = decode[T](feed.Item{Raw: raw, Codec: p.codec})
		return err
	})
	return obj, err
}

// Labels returns a packed object's labels, for which it is not decoded.
func (p *packing[T]) Labels(object pack.Object) (labels map[string]string, err error) {
	err = p.bytes(object, func(raw []byte) error {
		cut, err := wire.Parse(raw, p.format)
		if err != nil {
			return err
		}
		labels, err = cut.Labels()
		return err
	})
	return labels, err
}
