package decode

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinformer/kinformer/internal/intern"
)

// Options say how much objects may have in common.
type Options struct {
	// ShareEqual lets objects share maps, slices and messages behind pointers that
	// are equal, not only strings. Nobody may write into any of them then.
	ShareEqual bool
	// FewHeld says that of the objects that are decoded few are kept, so that the
	// tables are to be small.
	SmallTables bool
}

func (o Options) tableSize() intern.TableSize {
	if o.SmallTables {
		return intern.Small
	}
	return intern.Large
}

// Decoder decodes objects of one type. It keeps tables of what it has seen, so that
// what is equal in later objects is shared: whoever wants that uses one Decoder for
// all of a collection. It is safe for concurrent use.
type Decoder struct {
	root *messagePlan

	strings         *intern.Strings
	bytes           *intern.Bytes
	quantities      *intern.Values[resource.Quantity]
	quantityPointer uintptr // in a Quantity; see quantityPointer

	// shared is nil where nothing but strings and bytes is.
	shared *intern.Values[ref]
	// private decodes into the same tables what cannot be shared.
	unshared *Decoder
}

// New returns a Decoder for objects of a struct type whose pointer has Unmarshal. It
// is an error if it has not.
func New(t reflect.Type, options Options) (*Decoder, error) {
	c := &compiler{messages: map[reflect.Type]*messagePlan{}}
	root := c.plan(t)
	if root == nil {
		return nil, fmt.Errorf("%s cannot be decoded from protobuf: *%s has no Unmarshal", t, t)
	}
	room := options.tableSize()
	d := &Decoder{root: root, strings: intern.NewStrings(room), bytes: intern.NewBytes(room)}
	if offset, ok := quantityPointerOffset(); ok {
		d.quantityPointer, d.quantities = offset, intern.NewValues[resource.Quantity](room)
	}
	if options.ShareEqual {
		private := *d
		d.unshared, d.shared = &private, intern.NewValues[ref](room)
	}
	return d, nil
}

// Decode decodes an object and returns a pointer to it, as any. It keeps nothing of
// raw.
func (d *Decoder) Decode(raw []byte) (any, error) {
	object := reflect.New(d.root.goType)
	err := d.decode(addrOf(object), raw)
	if errors.Is(err, errMerge) {
		object = reflect.New(d.root.goType)
		err = d.unshared.decode(addrOf(object), raw)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.root.name, err)
	}
	return object.Interface(), nil
}

// decode decodes into a zero object. Some of the Unmarshal functions that
// Kubernetes' authors wrote by hand panic where others return an error.
func (d *Decoder) decode(at addr, raw []byte) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	return d.decodeMessage(d.root, at, raw)
}
