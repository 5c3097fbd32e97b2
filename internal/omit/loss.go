// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package omit

import (
	"reflect"

	"github.com/kinformer/kinformer/internal/jsonfield"
)

// loss records whether an object loses a value that an Update of what is left would delete at the
// server. If it is set although nothing is lost, an update is refused that need not be; the
// opposite deletes a field.
type loss struct{ lost bool }

// add records that the value of a node is omitted.
func (l *loss) add(n *node) { l.lost = l.lost || !n.omit.isKept() }

// zero says how the zero value of a struct's field is encoded. An encoded value that may be another
// one, such as a pointer to zero, counts as such. The zero zero is that of a value that has no such
// encoding: the key of a map, or a member of an unstructured object.
type zero struct {
	json  string // the encoding in JSON, other than null
	null  bool   // null in JSON
	empty bool   // a value without bytes, or the number 0, in protobuf
}

func zeroOf(t reflect.Type) zero {
	if t.Kind() == reflect.Pointer {
		return zero{null: true}
	}
	if jsonfield.IsOpaque(t) {
		return zero{empty: t.Kind() == reflect.Struct}
	}
	switch t.Kind() {
	case reflect.Bool:
		return zero{"false", true, true}
	case reflect.String:
		return zero{`""`, true, true}
	case reflect.Struct:
		return zero{"{}", true, true}
	case reflect.Slice, reflect.Map, reflect.Interface:
		return zero{null: true}
	default:
		return zero{"0", true, true}
	}
}

// isJSON reports whether a value in JSON is the zero value.
func (z zero) isJSON(value []byte) bool {
	return z.null && string(value) == "null" || z.json != "" && string(value) == z.json
}

// isProtobuf reports whether a value in protobuf is the zero value.
func (z zero) isProtobuf(value []byte) bool { return z.empty && isEmpty(value) }
