// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"reflect"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/kinformer/kinformer/internal/feed"
)

// Metadata is the part of an object's metadata from which an index may take its values.
type Metadata interface {
	GetNamespace() string
	GetName() string
	GetLabels() map[string]string
	GetAnnotations() map[string]string
	GetOwnerReferences() []metav1.OwnerReference
}

// IndexMetadata calls index with the metadata of an item's object. Namespace and name come from
// the item's key; the other fields are decoded when index reads one, without the rest of the
// object. A failure to decode them is the error returned.
func IndexMetadata(item feed.Item, index func(Metadata) ([]string, error)) ([]string, error) {
	if obj, ok := item.Object.(Metadata); ok {
		return index(obj)
	}
	namespace, name, found := strings.Cut(item.Key, "/")
	if !found {
		namespace, name = "", item.Key
	}
	metadata := &lazyMetadata{namespace: namespace, name: name, item: item}
	values, err := index(metadata)
	if metadata.err != nil {
		return nil, metadata.err
	}
	return values, err
}

// lazyMetadata is the metadata of an item that carries bytes.
type lazyMetadata struct {
	namespace, name string
	item            feed.Item
	partial         *metav1.PartialObjectMetadata // nil until a field is read
	err             error
}

var _ Metadata = (*lazyMetadata)(nil)

func (m *lazyMetadata) GetNamespace() string              { return m.namespace }
func (m *lazyMetadata) GetName() string                   { return m.name }
func (m *lazyMetadata) GetLabels() map[string]string      { return m.decoded().Labels }
func (m *lazyMetadata) GetAnnotations() map[string]string { return m.decoded().Annotations }
func (m *lazyMetadata) GetOwnerReferences() []metav1.OwnerReference {
	return m.decoded().OwnerReferences
}

// decoded returns the metadata, empty if it cannot be decoded.
func (m *lazyMetadata) decoded() *metav1.PartialObjectMetadata {
	if m.partial != nil {
		return m.partial
	}
	m.partial = &metav1.PartialObjectMetadata{}
	if m.decodeLocated() {
		return m.partial
	}
	obj, err := m.codec().Decode(m.item.Raw)
	if err != nil {
		m.err = err
		return m.partial
	}
	m.partial = obj.(*metav1.PartialObjectMetadata)
	return m.partial
}

// decodeLocated decodes the metadata in JSON without the rest of the object. It returns false if
// the place of the metadata is not known, or it does not decode: the error names the whole object.
func (m *lazyMetadata) decodeLocated() bool {
	if _, ok := m.item.Codec.(*jsonCodec); !ok || !m.item.Layout.Fits(m.item.Raw) {
		return false
	}
	at := m.item.Layout.Metadata
	if at.IsZero() {
		return true
	}
	if kjson.UnmarshalCaseSensitivePreserveInts(at.Of(m.item.Raw), &m.partial.ObjectMeta) == nil {
		return true
	}
	m.partial = &metav1.PartialObjectMetadata{}
	return false
}

// metadataDecoders decodes the metadata of objects of any type.
var metadataDecoders = sync.OnceValue(func() *Decoders { //nolint:gochecknoglobals // tables of strings, the same for all collections
	return NewDecoders(ObjectType{GoType: reflect.TypeFor[*metav1.PartialObjectMetadata]()}, Options{Packed: true})
})

// codec returns the codec of PartialObjectMetadata in the item's format: in both formats metadata
// is at the same place in objects of every type. It omits what the item's codec omits.
func (m *lazyMetadata) codec() feed.Codec {
	if c, ok := m.item.Codec.(*omittingCodec); ok {
		return metadataDecoders().omitting(metadataCodec(c.codec), c.omitted.OfMetadata())
	}
	return metadataCodec(m.item.Codec)
}

// metadataCodec returns the codec of PartialObjectMetadata in the format of another codec.
func metadataCodec(codec feed.Codec) feed.Codec {
	if _, ok := codec.(protobufCodec); ok {
		return protobufCodec{metadataDecoders()}
	}
	return &jsonCodec{decoders: metadataDecoders()}
}
