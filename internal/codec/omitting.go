// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/fields"
	"github.com/kinformer/kinformer/internal/wire"
)

// omittingCodec omits fields of the objects that another codec decodes. It cuts them out of the
// bytes, so that they are not decoded.
type omittingCodec struct {
	decoders *Decoders
	codec    feed.Codec
	format   wire.Format // of the bytes
	omitted  *fields.Omitted
}

var _ feed.EditingCodec = (*omittingCodec)(nil)

// omitting returns a codec that omits fields, or codec itself if there are none.
func (d *Decoders) omitting(codec feed.Codec, omitted *fields.Omitted) feed.Codec {
	if omitted == nil {
		return codec
	}
	format := wire.JSON
	if _, ok := codec.(protobufCodec); ok {
		format = wire.Protobuf
	}
	return &omittingCodec{d, codec, format, omitted}
}

func (c *omittingCodec) Decode(raw []byte) (runtime.Object, error) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	edited, item, ok := c.Edit((*buffer)[:0], feed.Item{Raw: raw})
	*buffer = edited
	if ok {
		return item.Codec.Decode(edited)
	}
	return c.decodeWhole(raw)
}

// decodeWhole decodes an object whose bytes cannot be edited, and omits the fields afterwards.
func (c *omittingCodec) decodeWhole(raw []byte) (runtime.Object, error) {
	objects := c.decoders.objects
	codec := c.codec
	if objects.Partial != nil {
		codec = c.ofWhole()
	}
	obj, err := codec.Decode(raw)
	if err != nil {
		return nil, err
	}
	return objects.Kept(c.omitted.Without(obj))
}

// ofWhole returns the codec of whole objects.
func (c *omittingCodec) ofWhole() feed.Codec {
	if of, ok := c.codec.(*jsonCodec); ok {
		whole := *of
		whole.decoders = c.decoders.whole()
		return &whole
	}
	return protobufCodec{c.decoders.whole()}
}

// Edit implements feed.EditingCodec.
func (c *omittingCodec) Edit(dst []byte, item feed.Item) (edited []byte, of feed.Item, ok bool) {
	var result fields.Edited
	if c.format == wire.Protobuf {
		result, ok = c.omitted.AppendProtobuf(dst, item.Raw, item.Layout)
	} else {
		result, ok = c.omitted.AppendJSON(dst, item.Raw, item.Layout)
	}
	if ok {
		item.Codec, item.Layout = c.codec, result.Layout
	}
	return result.Bytes, item, ok
}
