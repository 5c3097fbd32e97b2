// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/protowire"
)

// customDecoder returns a function that decodes a type with a handwritten Unmarshal method, or nil
// if it does not know the type.
func customDecoder(t reflect.Type) func(d *Decoder, at addr, b []byte) error {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return func(d *Decoder, at addr, b []byte) error {
			return d.decodeQuantity(at.pointerTo(t).Interface().(*resource.Quantity), b)
		}
	case reflect.TypeFor[metav1.Time]():
		return func(_ *Decoder, at addr, b []byte) error {
			seconds, _, err := decodeTimestamp(b)
			if err == nil {
				at.pointerTo(t).Interface().(*metav1.Time).Time = localTime(b, seconds, 0)
			}
			return err
		}
	case reflect.TypeFor[metav1.MicroTime]():
		return func(_ *Decoder, at addr, b []byte) error {
			seconds, nanos, err := decodeTimestamp(b)
			if err == nil {
				micros := time.Duration(nanos).Truncate(time.Microsecond)
				at.pointerTo(t).Interface().(*metav1.MicroTime).Time = localTime(b, seconds, int64(micros))
			}
			return err
		}
	}
	return nil
}

// localTime returns the time of a timestamp encoded as b. An empty b is the zero Time.
func localTime(b []byte, seconds, nanos int64) time.Time {
	if len(b) == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, nanos).Local()
}

// decodeTimestamp decodes a metav1.Timestamp.
func decodeTimestamp(b []byte) (seconds int64, nanos int32, err error) {
	for i := 0; i < len(b); {
		tag, next, err := protowire.Varint(b, i)
		if err != nil {
			return 0, 0, err
		}
		number, wire, err := protowire.SplitTag(tag)
		if err != nil {
			return 0, 0, err
		}
		if number > 2 {
			if i, err = protowire.Skip(b, next, wire); err != nil {
				return 0, 0, err
			}
			continue
		}
		if wire != protowire.TypeVarint {
			return 0, 0, protowire.ErrType(wire)
		}
		v, next, err := protowire.Varint(b, next)
		if err != nil {
			return 0, 0, err
		}
		if i = next; number == 1 {
			seconds = int64(v)
		} else {
			nanos = int32(v)
		}
	}
	return seconds, nanos, nil
}

const (
	// quantityKind is the only kind of values in the table of quantities.
	quantityKind = 0
	// quantityTag is the first byte of every Quantity, the tag of its string. Other encodings are
	// not looked up, because they may leave the previous value unchanged.
	quantityTag = 1<<3 | protowire.TypeBytes
)

// decodeQuantity decodes a Quantity. It caches parsed values, because parsing is slow and distinct
// values are few. It does not cache a value too large for an int64, whose copies share memory.
func (d *Decoder) decodeQuantity(q *resource.Quantity, b []byte) error {
	if isSlowQuantity(b) {
		return errSlowQuantity
	}
	if d.quantities == nil || len(b) == 0 || b[0] != quantityTag {
		return q.Unmarshal(b)
	}
	cached, ok := d.quantities.Get(quantityKind, b)
	if ok {
		*q = cached
		return nil
	}
	if err := q.Unmarshal(b); err != nil {
		return err
	}
	if isCopyable(q, d.quantityPointer) {
		d.quantities.Put(quantityKind, b, *q)
	}
	return nil
}
