// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"reflect"
	"strings"

	"github.com/kinformer/kinformer/internal/fields"
)

// maxNumber is the highest field number that a plan supports. The highest in Kubernetes is 44.
const maxNumber = 255

// fieldNumber returns the number of a field, or 0 if generated code does not encode it. It ignores
// the encoding in the struct tag. Kubernetes generates code from the types of the fields, and some
// tags, which are handwritten, are wrong. supported is false if the tag has a form that Kubernetes'
// types do not use.
func fieldNumber(f reflect.StructField) (number int, supported bool) {
	text, tagged := f.Tag.Lookup("protobuf")
	if !tagged {
		return 0, true
	}
	number = int(fields.ProtobufNumber(f))
	encoding, _, _ := strings.Cut(text, ",")
	return number, (encoding == "varint" || encoding == "bytes") && !strings.Contains(text, "customtype") && 0 < number && number <= maxNumber
}
