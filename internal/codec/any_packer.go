// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"
	"reflect"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
)

// AnyPacker is a Packer for stores of values of type any. It packs those of the collection's Go
// type.
type AnyPacker struct{ packer *Packer[object] }

// NewAnyPacker returns a packer of objects of a type; see NewPacker.
func NewAnyPacker(objects ObjectType, options Options, transformed func() bool) AnyPacker {
	return AnyPacker{NewPacker[object](objects, options, transformed)}
}

// Pack packs an item. If its value has another type, the error wraps pack.ErrUnsupported.
func (p AnyPacker) Pack(item feed.Item, old pack.Object, value func() (any, error)) (pack.Object, error) {
	return p.packer.Pack(item, old, func() (object, error) {
		decoded, err := value()
		if err != nil {
			return nil, err
		}
		obj, ok := decoded.(object)
		if !ok || reflect.TypeOf(decoded) != p.packer.objects.GoType {
			return nil, fmt.Errorf("%w: %T, not %s", pack.ErrUnsupported, decoded, p.packer.objects)
		}
		return obj, nil
	})
}

// Unpack decodes a packed object.
func (p AnyPacker) Unpack(packed pack.Object) (any, error) { return p.packer.Unpack(packed) }

// Labels returns the labels of a packed object without decoding the object.
func (p AnyPacker) Labels(packed pack.Object) (map[string]string, error) {
	return p.packer.Labels(packed)
}
