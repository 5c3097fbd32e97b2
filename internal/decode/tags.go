package decode

import (
	"reflect"
	"strconv"
	"strings"
)

// maxNumber is the highest field number that a plan has room for. Kubernetes' own
// go up to 44.
const maxNumber = 255

// numberOf reads from a field's tag what its number on the wire is:
//
//	protobuf:"bytes,3,rep,name=finalizers"
//
// Nothing else of the tag counts. Kubernetes' code is generated from the fields'
// types in Go; the tags are written by people, and some say bytes of a bool.
// on is false where the field is not on the wire; understood is false where a tag is
// of a form that Kubernetes' types do not have.
func fieldNumber(f reflect.StructField) (number int, on, understood bool) {
	text, on := f.Tag.Lookup("protobuf")
	if !on {
		return 0, false, true
	}
	parts := strings.Split(text, ",")
	if len(parts) < 2 || parts[0] != "varint" && parts[0] != "bytes" || strings.Contains(text, "customtype") {
		return 0, true, false
	}
	number, err := strconv.Atoi(parts[1])
	return number, true, err == nil && number > 0 && number <= maxNumber
}
