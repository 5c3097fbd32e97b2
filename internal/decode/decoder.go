// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinformer/kinformer/internal/intern"
)

// Options configure a Decoder or JSON.
type Options struct {
	// ShareEqual lets objects share equal maps, slices and messages behind pointers, not only
	// strings. Callers must not write into decoded objects then.
	ShareEqual bool
	// SmallTables bounds the tables to a sixteenth of their size, for a caller that keeps only a
	// few decoded objects in memory.
	SmallTables bool
	// OwnStrings makes each string one of its own: there is no table of strings. It is for a caller
	// that shares the strings that it keeps.
	OwnStrings bool
}

func (o Options) tableSize() intern.TableSize {
	if o.SmallTables {
		return intern.Small
	}
	return intern.Large
}

// Decoder decodes objects of one type. It keeps tables of the values it has decoded, so that later
// objects share them: use one Decoder for a whole collection. It is safe for concurrent use.
type Decoder struct {
	plan *plan

	// caches holds the recurring strings of each field: nil for a field not seen yet.
	caches []atomic.Pointer[intern.FieldCache]
	// hits estimates whether a lookup in bytes or shared finds the values of each field.
	hits []intern.HitEstimator

	strings         *intern.Strings // nil with OwnStrings
	bytes           *intern.Bytes
	quantities      *intern.Values[resource.Quantity]
	quantityPointer uintptr // offset in a Quantity; see quantityPointerOffset

	// shared holds shared maps, slices and messages. It is nil without ShareEqual.
	shared *intern.Values[ref]
	depth  int // number of messages of recursive types that are being decoded
	// unshared uses the same tables but shares no maps, slices or messages. It is nil without
	// ShareEqual.
	unshared *Decoder
}

// New returns a Decoder for objects of type t. It returns an error if *t has no Unmarshal method.
func New(t reflect.Type, options Options) (*Decoder, error) {
	p, err := planOf(planKey{object: t}, func(c *compiler) (*messagePlan, error) {
		if root := c.plan(t); root != nil {
			return root, nil
		}
		return nil, fmt.Errorf("%s cannot be decoded from protobuf: *%s has no Unmarshal method", t, t)
	})
	if err != nil {
		return nil, err
	}
	return decoderOf(p, options), nil
}

func decoderOf(p *plan, options Options) *Decoder {
	size := options.tableSize()
	d := &Decoder{
		plan:   p,
		caches: make([]atomic.Pointer[intern.FieldCache], p.caches),
		hits:   make([]intern.HitEstimator, p.shared),
		bytes:  intern.NewBytes(size),
	}
	if !options.OwnStrings {
		d.strings = intern.NewStrings(size)
	}
	if offset, ok := quantityPointerOffset(); ok {
		d.quantityPointer, d.quantities = offset, intern.NewValues[resource.Quantity](size)
	}
	if options.ShareEqual {
		unshared := *d
		d.unshared, d.shared = &unshared, intern.NewValues[ref](size)
	}
	return d
}

// Decode decodes an object and returns a pointer to it. It does not retain raw.
func (d *Decoder) Decode(raw []byte) (any, error) {
	object := reflect.New(d.plan.root.goType)
	if err := d.decodeInto(object, raw); err != nil {
		return nil, err
	}
	return object.Interface(), nil
}

// DecodeInto decodes an object into the zero value that a pointer of its type points to.
func (d *Decoder) DecodeInto(object any, raw []byte) error {
	return d.decodeInto(reflect.ValueOf(object), raw)
}

func (d *Decoder) decodeInto(object reflect.Value, raw []byte) error {
	err := d.decode(addrOf(object), raw)
	if errors.Is(err, errMerge) {
		object.Elem().SetZero()
		err = d.unshared.decode(addrOf(object), raw)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d.plan.root.name, err)
	}
	return nil
}

// maxNesting is the maximum number of messages of recursive types inside each other. Decoding
// recurses, and Go ends the process if the stack exceeds a gigabyte.
const maxNesting = 10000

var errNesting = fmt.Errorf("nested deeper than %d levels", maxNesting)

// deeper returns the Decoder for a message of a recursive type.
func (d *Decoder) deeper() (*Decoder, error) {
	if d.depth == maxNesting {
		return nil, errNesting
	}
	next := *d
	next.depth++
	return &next, nil
}

// intern returns b as a string, a value of the field whose cache has the given index.
func (d *Decoder) intern(b []byte, cache uint32) string {
	if d.strings == nil {
		return string(b)
	}
	field := d.caches[cache].Load()
	if field == nil {
		d.caches[cache].CompareAndSwap(nil, &intern.FieldCache{})
		field = d.caches[cache].Load()
	}
	return d.strings.Intern(b, field)
}

// decode decodes raw into the zero object at an address.
func (d *Decoder) decode(at addr, raw []byte) (err error) {
	defer recoverAs(&err)
	return d.decodeMessage(d.plan.root, at, raw)
}

// recoverAs recovers from a panic, which becomes an error: some handwritten Unmarshal methods of
// Kubernetes panic on invalid input.
func recoverAs(err *error) {
	if reason := recover(); reason != nil {
		*err = fmt.Errorf("panic: %v", reason)
	}
}
