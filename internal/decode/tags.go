// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"reflect"
	"strconv"
	"strings"
)

// maxNumber is the highest field number that a plan supports. The highest in Kubernetes is 44.
const maxNumber = 255

// fieldNumber returns the number of a field from its struct tag:
//
//	protobuf:"bytes,3,rep,name=finalizers"
//
// It ignores the encoding in the tag. Kubernetes generates code from the types of the fields, and
// some tags, which are handwritten, are wrong. tagged is false if the field is not encoded, and
// supported is false if the tag has a form that Kubernetes' types do not use.
func fieldNumber(f reflect.StructField) (number int, tagged, supported bool) {
	text, tagged := f.Tag.Lookup("protobuf")
	if !tagged {
		return 0, false, true
	}
	parts := strings.Split(text, ",")
	if len(parts) < 2 || parts[0] != "varint" && parts[0] != "bytes" || strings.Contains(text, "customtype") {
		return 0, true, false
	}
	number, err := strconv.Atoi(parts[1])
	return number, true, err == nil && number > 0 && number <= maxNumber
}
