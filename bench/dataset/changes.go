// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"bytes"

	"github.com/kinformer/kinformer/internal/protowire"
)

// Change is a field of a Pod that an update changes beside its resourceVersion.
type Change string

// The changes. Each leaves the length of the encoded Pod as it is.
const (
	NoChange     Change = ""
	ChangeStatus Change = "status" // status.phase
	ChangeNode   Change = "node"   // spec.nodeName
)

// Apply changes the i-th object, which must be a Pod that runs on a node. It reports whether it
// knows the change.
func (e *Encoded) Apply(change Change, i int) bool {
	switch change {
	case NoChange:
	case ChangeStatus:
		phase := field(field(e.Raw(i), 3), 1)
		if bytes.Equal(phase, []byte("Running")) {
			copy(phase, "Pending")
		} else {
			copy(phase, "Running")
		}
	case ChangeNode:
		node := field(field(e.Raw(i), 2), 10)
		digit := &node[len("ip-10-0-")] // 0 to 3
		*digit = '0' + (*digit-'0'+1)%4
	default:
		return false
	}
	return true
}

// field returns the content of the first field with a number, which is length-delimited. It panics
// if the message lacks it.
func field(message []byte, number int) []byte {
	for i := 0; ; {
		tag, value, err := protowire.Varint(message, i)
		if err == nil && tag == uint64(number)<<3|protowire.TypeBytes {
			from, to, err := protowire.Bounds(message, value)
			if err == nil {
				return message[from:to]
			}
		}
		if i, err = protowire.Skip(message, value, int(tag&7)); err != nil {
			panic(err)
		}
	}
}
