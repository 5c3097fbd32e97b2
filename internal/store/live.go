// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"runtime"
	"sync/atomic"
	"weak"
)

// decoded is the handle of a packed's decoded object.
type decoded struct {
	object weak.Pointer[valueRef]   // nil once nothing references the object
	kept   atomic.Pointer[valueRef] // the object while the hot set keeps it
	hotState
}

// ref returns the object, or nil if nothing references it any more.
func (d *decoded) ref() *valueRef {
	if ref := d.kept.Load(); ref != nil {
		return ref
	}
	return d.object.Value()
}

// loadLive returns the decoded value if the hot set or a reader references it, or the store keeps
// it unpacked. use reports whether the read counts for the hot set.
func (s *Store[V]) loadLive(p *packed, use bool) (value V, ok bool) {
	switch d := p.live.Load(); d {
	case nil:
	case &notPacked:
		return s.unpackedValue(p)
	default:
		if ref := d.ref(); ref != nil {
			if use {
				d.use()
			}
			return s.fromPointee(ref), true
		}
	}
	return value, false
}

// storeLive records a decoded value and returns it, or returns the value that another reader
// recorded first, so that concurrent readers share one object. The hot set keeps it if keep is set.
func (s *Store[V]) storeLive(key string, p *packed, value V, size int, keep bool) V {
	ref := s.pointee(value)
	if ref == nil {
		return value
	}
	d := &decoded{object: weak.Make(ref), hotState: hotState{packed: p}}
	for {
		other := p.live.Load()
		if other != nil {
			if ref := other.ref(); ref != nil {
				return s.fromPointee(ref)
			}
		}
		if p.live.CompareAndSwap(other, d) {
			break
		}
	}
	if !keep || !s.keepHot(key, d, ref, size) {
		d.clearWhenUnreferenced(ref)
	}
	return value
}

// clearWhenUnreferenced makes the garbage collector free the handle together with the object. The
// cleanup references the packed, so the object must not be reachable from it: kept must be nil and
// remain so.
func (d *decoded) clearWhenUnreferenced(ref *valueRef) {
	runtime.AddCleanup(ref, func(d *decoded) { d.packed.live.CompareAndSwap(d, nil) }, d)
}
