package cache

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/store"
)

// Untyped is a collection whose objects' type is known at run time only. It is for the
// packages of this module that implement other libraries' interfaces: what it is made of
// is internal, and of no use to anybody else.
type Untyped struct {
	Source feed.Source
	Packer store.Packer[any] // nil unless the objects are to be packed

	way     *way
	packing *packing[Object]
}

// NewUntyped returns the collection that lw lists, of objects of the example's type, or
// of any type where that is nil.
func NewUntyped(lw *ListWatch, example runtime.Object, packed, shareEqual bool) *Untyped {
	k := kind{goType: reflect.TypeOf(example), shareEqual: shareEqual, packed: packed}
	if k.goType != nil && carriesKind(k.goType) && !isNil(example) {
		k.gvk = example.GetObjectKind().GroupVersionKind()
	}
	u := &Untyped{}
	u.Source, u.way = newSource(lw, k)
	if packed && k.goType != nil {
		u.packing = newPacking[Object](k, false)
		u.Packer = untypedPacking{u.packing}
	}
	return u
}

// Transformed says that what is to be kept is not what the server sends. It must not be
// called once the collection is read.
func (u *Untyped) Transformed() {
	if u.packing != nil {
		u.packing.transformed = true
	}
}

// Streaming tells whether the last answer was cut from the stream, and if not, why.
func (u *Untyped) Streaming() (streaming bool, why string) { return u.way.get() }

// untypedPacking packs objects that come as any.
type untypedPacking struct{ packing *packing[Object] }

// Pack packs an item. What it decodes to must be of the collection's type.
func (p untypedPacking) Pack(item feed.Item, old pack.Object, value func() (any, error)) (pack.Object, error) {
	return p.packing.Pack(item, old, func() (Object, error) {
		decoded, err := value()
		if err != nil {
			return nil, err
		}
		obj, ok := decoded.(Object)
		if !ok || reflect.TypeOf(decoded) != p.packing.kind.goType {
			return nil, fmt.Errorf("%w: it is %T, not %s", errCannotPack, decoded, p.packing.kind)
		}
		return obj, nil
	})
}

var errCannotPack = errors.New("the object cannot be packed")

// Unpack decodes a packed object.
func (p untypedPacking) Unpack(object pack.Object) (any, error) { return p.packing.Unpack(object) }

// Labels returns a packed object's labels, for which it is not decoded.
func (p untypedPacking) Labels(object pack.Object) (map[string]string, error) {
	return p.packing.Labels(object)
}
