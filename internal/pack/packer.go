// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import "hash/maphash"

// Packer packs the objects of one collection. They should have the same type and format, or they
// have little in common. It is safe for concurrent use.
type Packer struct {
	bases   baseTable
	trainer trainer
	pool    workspacePool
}

// New returns a Packer without a dictionary.
func New() *Packer { return &Packer{bases: baseTable{seed: maphash.MakeSeed()}} }

// Pack packs an object with an excerpt. It does not retain raw. Objects with the same owner are
// packed against a common base; owner is empty for an object without one. old is the object that is
// being replaced, usually its own earlier state, or zero.
func (p *Packer) Pack(raw []byte, owner string, old Object, excerpt Excerpt) Object {
	w := p.pool.get()
	defer p.pool.put(w)
	base := old.base()
	if o := w.packDelta(raw, excerpt, base, true); !o.IsZero() {
		return o
	}
	if owner == "" {
		return p.packStandalone(w, raw, excerpt)
	}
	if current := p.bases.get(owner); current != base {
		if o := w.packDelta(raw, excerpt, current, false); !o.IsZero() {
			return o
		}
	}
	return p.packBase(w, raw, excerpt, owner)
}

// packBase packs an object and makes it the newest base of its owner.
func (p *Packer) packBase(w *workspace, raw []byte, excerpt Excerpt, owner string) Object {
	base := &source{object: p.packStandalone(w, raw, excerpt), length: uint32(len(raw)), pool: &p.pool}
	p.bases.put(owner, base)
	return Object{from: base}
}

// packStandalone packs an object against the current dictionary, and trains the next one with it.
func (p *Packer) packStandalone(w *workspace, raw []byte, excerpt Excerpt) Object {
	from := p.trainer.current.Load()
	o := w.packStandalone(raw, excerpt, from)
	p.trainer.add(raw, len(o.data), &p.pool)
	return o
}

// base returns the base that o is packed against, or that o is, or nil.
func (o Object) base() *source {
	if o.from == nil || o.from.dictionary != nil {
		return nil
	}
	return o.from
}

// A delta is used while it is smaller than this share of the size that the object would take as a
// base. An object of about the base's length differs only in its own values, which cost the same
// anywhere. An object of another length has parts that the base lacks and that its siblings will
// have as well, so it is the better base. An object with an unshared base pays for both.
const (
	shareSameLength  = 15.0 / 16
	shareOtherLength = 10.0 / 16
	shareUnshared    = 4.0 / 16
	minDeltaLimit    = 64 // bytes
)

// deltaLimit returns the size up to which a delta for an object of the given length is used. update
// is true if the object's earlier state is this base or is packed against it.
func (s *source) deltaLimit(length int, update bool) int {
	own := int(s.length)
	standalone := float64(len(s.object.data)) * float64(length) / float64(max(own, 1))
	share := shareOtherLength
	switch {
	case update && !s.shared.Load():
		share = shareUnshared
	case abs(length-own) <= own/8:
		share = shareSameLength
	}
	return max(int(standalone*share), minDeltaLimit)
}

func abs(n int) int { return max(n, -n) }

// packDelta packs an object as a delta against a base, or returns zero if the delta is too large.
// update is true if the object's earlier state is this base or is packed against it.
func (w *workspace) packDelta(raw []byte, excerpt Excerpt, base *source, update bool) Object {
	if base == nil {
		return Object{}
	}
	text, err := w.unpack(base)
	if err != nil { // reported when an object that needs the base is unpacked
		return Object{}
	}
	e := &w.encoder
	e.start(raw, text, excerpt, base.hasExcerpt(text, raw, excerpt))
	if !e.deltaEncode(base.deltaLimit(len(raw), update)) || !e.decodable() {
		return Object{}
	}
	if !update && !base.shared.Load() {
		base.shared.Store(true)
	}
	return Object{from: base, data: string(e.out)}
}

// packStandalone packs an object against a dictionary, or without one if from is nil.
func (w *workspace) packStandalone(raw []byte, excerpt Excerpt, from *source) Object {
	e := &w.encoder
	if from == nil {
		e.start(raw, nil, excerpt, false)
		e.dictEncode(nil)
	} else {
		e.start(raw, from.dictionary, excerpt, false)
		e.dictEncode(w.indexOf(from))
	}
	if e.decodable() {
		return Object{from: from, data: string(e.out)}
	}
	e.start(raw, nil, excerpt, false)
	e.storeRaw()
	return Object{data: string(e.out)}
}
