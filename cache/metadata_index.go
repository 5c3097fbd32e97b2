package cache

import (
	"reflect"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/feed"
)

// Metadata is what an index on metadata sees of an object.
type Metadata interface {
	GetNamespace() string
	GetName() string
	GetLabels() map[string]string
	GetAnnotations() map[string]string
	GetOwnerReferences() []metav1.OwnerReference
}

// MetadataIndexFunc is an IndexFunc that looks at nothing but metadata. On a packed
// informer it spares objects being decoded when they come; by namespace and name it
// costs nothing at all. The rules of IndexFunc hold, and what it is given is valid
// until it returns.
type MetadataIndexFunc func(metadata Metadata) ([]string, error)

// MetadataIndexers are index functions by the names of their indexes.
type MetadataIndexers map[string]MetadataIndexFunc

// IndexByNamespace indexes objects by their namespaces.
func IndexByNamespace(metadata Metadata) ([]string, error) {
	return []string{metadata.GetNamespace()}, nil
}

// onObjects returns a metadata index as one on objects, which have their metadata.
func onObjects[T Object](index MetadataIndexFunc) IndexFunc[T] {
	if index == nil {
		return nil
	}
	return func(obj T) ([]string, error) { return index(obj) }
}

// onItems returns metadata indexes as ones on items which carry their bytes.
func (p *packing[T]) onItems(indexers MetadataIndexers) map[string]func(feed.Item) ([]string, error) {
	on := make(map[string]func(feed.Item) ([]string, error), len(indexers))
	for name, index := range indexers {
		if index == nil || p.transformed { // a transform may have changed what is indexed
			continue
		}
		on[name] = func(item feed.Item) ([]string, error) { return p.indexItem(index, item) }
	}
	return on
}

func (p *packing[T]) indexItem(index MetadataIndexFunc, item feed.Item) ([]string, error) {
	if obj, ok := item.Object.(T); ok {
		return index(obj)
	}
	namespace, name, found := strings.Cut(item.Key, "/")
	if !found {
		namespace, name = "", item.Key
	}
	cut := &cutMetadata{namespace: namespace, name: name, item: item}
	values, err := index(cut)
	if cut.err != nil {
		return nil, cut.err
	}
	return values, err
}

// cutMetadata is the metadata of an item. What its key does not say is decoded when
// it is asked for.
type cutMetadata struct {
	namespace, name string
	item            feed.Item
	whole           *metav1.PartialObjectMetadata
	err             error
}

var _ Metadata = (*cutMetadata)(nil)

func (c *cutMetadata) GetNamespace() string              { return c.namespace }
func (c *cutMetadata) GetName() string                   { return c.name }
func (c *cutMetadata) GetLabels() map[string]string      { return c.decoded().Labels }
func (c *cutMetadata) GetAnnotations() map[string]string { return c.decoded().Annotations }
func (c *cutMetadata) GetOwnerReferences() []metav1.OwnerReference {
	return c.decoded().OwnerReferences
}

// metadataSharing decodes the metadata of objects of any type.
var metadataSharing = sync.OnceValue(func() *sharing { //nolint:gochecknoglobals // tables of strings, the same for all
	return newSharing(kind{goType: reflect.TypeFor[*metav1.PartialObjectMetadata](), packed: true})
})

// decoded returns the metadata as far as it can be decoded; the error is kept.
func (c *cutMetadata) decoded() *metav1.PartialObjectMetadata {
	if c.whole != nil {
		return c.whole
	}
	c.whole = &metav1.PartialObjectMetadata{}
	obj, err := c.codec().Decode(c.item.Raw)
	if err != nil {
		c.err = err
		return c.whole
	}
	c.whole = obj.(*metav1.PartialObjectMetadata)
	return c.whole
}

// codec returns what decodes the metadata of an object of the item's format: in both
// its place is the same in all objects.
func (c *cutMetadata) codec() feed.Codec {
	metadata := reflect.TypeFor[*metav1.PartialObjectMetadata]()
	if _, protobuf := c.item.Codec.(protobufCodec); protobuf {
		return protobufCodec{metadata, metadataSharing()}
	}
	return &jsonCodec{sharing: metadataSharing(), goType: metadata}
}
