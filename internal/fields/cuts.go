// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import "github.com/kinformer/kinformer/internal/layout"

// cut is a part of an object's bytes that was left out, and the number of bytes in its place.
type cut struct{ from, to, added int }

// cuts are the cuts of an object, in its order. They do not overlap, and each is inside a part of
// the object's layout, around it or beside it.
type cuts []cut

// move returns the layout of an object after the cuts.
func (c cuts) move(at layout.Object) layout.Object {
	at.Length += int32(c.before(at.Length))
	for _, part := range []*layout.Span{&at.APIVersion, &at.Kind, &at.Metadata, &at.Labels, &at.Owners} {
		if c.include(*part) {
			*part = layout.Span{}
			continue
		}
		*part = part.Move(c.before(part.Start), c.before(part.End))
	}
	return at
}

// include reports whether a part was cut out.
func (c cuts) include(part layout.Span) bool {
	for _, cut := range c {
		if cut.from <= int(part.Start) && int(part.End) <= cut.to {
			return true
		}
	}
	return false
}

// before returns by how much the cuts that end at a position or before it moved it.
func (c cuts) before(at int32) (moved int) {
	for _, cut := range c {
		if cut.to <= int(at) {
			moved += cut.added - (cut.to - cut.from)
		}
	}
	return moved
}
