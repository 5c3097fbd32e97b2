package cache

import (
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	decoding "github.com/kinformer/kinformer/internal/decode" // decode is a function here
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

// sharing is what decodes the objects of a collection, so that equal parts of them
// are in memory once. All requests of a source use the same: what a watch brings
// shares with what the list has brought. It is safe for concurrent use.
type sharing struct {
	protobuf func() (*decoding.Decoder, error) // made when there is something to decode
	json     *decoding.JSON
}

// newSharing returns the sharing of objects of a kind. They share their strings and
// the bytes of their managedFields; those of a kind with shareEqual share maps, slices
// and parts behind pointers too, into which nobody may write then.
func newSharing(k kind) *sharing {
	options := decoding.Options{ShareEqual: k.shareEqual, SmallTables: k.packed}
	return &sharing{
		protobuf: sync.OnceValues(func() (*decoding.Decoder, error) {
			return decoding.New(k.goType.Elem(), options)
		}),
		json: decoding.NewJSON(options),
	}
}

// protobufCodec decodes bare messages of a generated type. What it returns keeps
// nothing of the bytes.
type protobufCodec struct {
	goType  reflect.Type
	sharing *sharing
}

var _ feed.Codec = protobufCodec{}

func (c protobufCodec) Decode(raw []byte) (runtime.Object, error) {
	decoder, err := c.sharing.protobuf()
	if err != nil {
		return nil, err
	}
	obj, err := decoder.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("decode %s from protobuf: %w", c.goType, err)
	}
	return obj.(runtime.Object), nil
}

// jsonCodec decodes JSON, as client-go does: names of fields are case-sensitive,
// whole numbers of no type become int64.
type jsonCodec struct {
	sharing *sharing
	goType  reflect.Type
	gvk     schema.GroupVersionKind // of unstructured objects that do not say it themselves
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
	object, err := c.sharing.json.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("decode unstructured object from JSON: %w", err)
	}
	u.Object = object
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
		protobuf: protobufCodec{k.goType, s.sharing},
		json:     &jsonCodec{sharing: s.sharing, goType: k.goType, gvk: k.gvk, clearKind: watching && !carriesKind(k.goType)},
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
		c.json = &jsonCodec{sharing: c.json.sharing, goType: c.kind.goType, gvk: schema.FromAPIVersionAndKind(item.APIVersion, item.Kind)}
	}
	return c.json
}
