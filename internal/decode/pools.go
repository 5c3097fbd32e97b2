// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import "reflect"

// The values of one type that an object's pointers point to, and the elements of its slices of that
// type, are one array: one allocation for all containers' ports. A program that keeps one of them
// keeps the array, and what the values in it refer to: an init container keeps all containers, with
// their ports, but not the object. The walk of Check counts the values beforehand, so that the
// array has the right length.

// pools has the arrays of an object that is being decoded, by the number of their type in the plan.
type pools struct {
	decoder Decoder  // whose pools they are
	left    []uint32 // values that are not taken yet
	next    []addr   // the first of them; nil if the array is not allocated yet
}

// withPools calls decode with a Decoder that has pools for an object, or with d if its values share
// memory with those of other objects, or if the walk does not accept the object.
func (d *Decoder) withPools(raw []byte, decode func(d *Decoder) error) error {
	if d.shared != nil {
		return decode(d)
	}
	p, _ := d.plan.free.Get().(*pools)
	if p == nil {
		p = &pools{left: make([]uint32, len(d.plan.pooled)), next: make([]addr, len(d.plan.pooled))}
	}
	defer func() {
		p.decoder = Decoder{}
		clear(p.left)
		clear(p.next)
		d.plan.free.Put(p)
	}()
	if !d.plan.root.walk.accepts(raw, p.left) {
		return decode(d)
	}
	p.decoder = *d
	p.decoder.pools = p
	return decode(&p.decoder)
}

// allocate returns n zero values: what a field's pointer points to, or elements of its slice.
func (d *Decoder) allocate(f *fieldPlan, n int) addr {
	pooled := d.plan.pooled[f.pool]
	p := d.pools
	if p == nil || uint64(n) > uint64(p.left[f.pool]) {
		return pooled.newArray(n)
	}
	left, first := p.left[f.pool]-uint32(n), p.next[f.pool]
	if first == (addr{}) {
		first = pooled.newArray(int(p.left[f.pool]))
	}
	p.left[f.pool], p.next[f.pool] = left, addr{}
	if left > 0 {
		p.next[f.pool] = first.add(uintptr(n) * pooled.size)
	}
	return first
}

// poolOf returns the number of the pool of a type's values.
func (c *compiler) poolOf(t reflect.Type) uint32 {
	for i, pooled := range c.pooled {
		if pooled.goType == t {
			return uint32(i)
		}
	}
	c.pooled = append(c.pooled, &elementType{goType: t, size: t.Size()})
	return uint32(len(c.pooled) - 1)
}
