package cache

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/wire"
)

// protobufMessage is what generated API types have.
type protobufMessage interface {
	runtime.Object
	Unmarshal(data []byte) error
}

// isGenerated tells whether objects of a kind can come as protobuf.
func (k kind) isGenerated() bool { return k.goType.Implements(reflect.TypeFor[protobufMessage]()) }

// protobufCodec decodes bare messages of a generated type. What it returns keeps
// nothing of the bytes.
type protobufCodec struct{ goType reflect.Type }

var _ feed.Codec = protobufCodec{}

func (c protobufCodec) Decode(raw []byte) (runtime.Object, error) {
	obj := reflect.New(c.goType.Elem()).Interface().(protobufMessage)
	if err := obj.Unmarshal(raw); err != nil {
		return nil, fmt.Errorf("decode %s from protobuf: %w", c.goType, err)
	}
	return obj, nil
}

// jsonCodec decodes JSON, as client-go does: names of fields are case-sensitive,
// whole numbers of no type become int64.
type jsonCodec struct {
	goType reflect.Type
	gvk    schema.GroupVersionKind // of unstructured objects that do not say it themselves
	// clearKind takes apiVersion and kind off, as client-go's typed clients do with
	// the objects of a watch: so an object is the same whichever way it came.
	clearKind bool
}

var _ feed.Codec = &jsonCodec{}

func (c *jsonCodec) Decode(raw []byte) (runtime.Object, error) {
	obj := reflect.New(c.goType.Elem()).Interface().(runtime.Object)
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return c.decodeUnstructured(u, raw)
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, obj); err != nil {
		return nil, fmt.Errorf("decode %s from JSON: %w", c.goType, err)
	}
	if c.clearKind {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return obj, nil
}

func (c *jsonCodec) decodeUnstructured(u *unstructured.Unstructured, raw []byte) (runtime.Object, error) {
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &u.Object); err != nil {
		return nil, fmt.Errorf("decode unstructured object from JSON: %w", err)
	}
	if u.GetKind() == "" {
		u.SetGroupVersionKind(c.gvk)
	}
	return u, nil
}

// codecs are the codecs of the objects of one answer.
type codecs struct {
	kind     kind
	protobuf protobufCodec
	json     *jsonCodec
}

func (s streamSource) codecs(watching bool) *codecs {
	k := s.classic.kind
	return &codecs{
		kind:     k,
		protobuf: protobufCodec{k.goType},
		json:     &jsonCodec{goType: k.goType, gvk: k.gvk, clearKind: watching && !carriesKind(k.goType)},
	}
}

// needsKind tells whether objects have to say their kind, because nobody else does.
func (c *codecs) needsKind() bool { return carriesKind(c.kind.goType) && c.kind.gvk.Empty() }

// of returns the codec of an item.
func (c *codecs) of(item *wire.Item) feed.Codec {
	if item.Format == wire.Protobuf {
		return c.protobuf
	}
	if c.needsKind() && item.Kind != c.json.gvk.Kind {
		// Of a kind that the list says: the next items will be of it too.
		c.json = &jsonCodec{goType: c.kind.goType, gvk: schema.FromAPIVersionAndKind(item.APIVersion, item.Kind)}
	}
	return c.json
}
