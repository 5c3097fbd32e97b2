// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package protowire

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
)

// messages are encodings on which generated code and the protobuf specification may disagree.
var messages = map[string]string{
	"varint":                           "\x78\x01",
	"overlong varint":                  "\x78\x81\x80\x00",
	"varint of ten bytes":              "\x78" + strings.Repeat("\xff", 9) + "\x01",
	"varint that overflows":            "\x78" + strings.Repeat("\xff", 9) + "\x7f",
	"varint of eleven bytes":           "\x78" + strings.Repeat("\xff", 10) + "\x01",
	"truncated varint":                 "\x78\xff",
	"fixed":                            "\x79" + "12345678" + "\x7d" + "1234",
	"truncated fixed64":                "\x79" + "1234567",
	"truncated fixed32":                "\x7d" + "123",
	"bytes":                            "\x7a\x03abc",
	"truncated bytes":                  "\x7a\x03ab",
	"negative length":                  "\x7a" + strings.Repeat("\xff", 9) + "\x01",
	"length that overflows":            "\x7a" + strings.Repeat("\xff", 8) + "\x7f",
	"group":                            "\x7b\x78\x01\x7b\x7c\x7c",
	"group with another end":           "\x7b\x78\x01\x74",
	"unterminated group":               "\x7b\x78\x01",
	"end of no group":                  "\x7c",
	"wire type 6":                      "\x7e\x01",
	"wire type 7":                      "\x7f\x01",
	"field 0":                          "\x00\x01",
	"field 0 in a group":               "\x7b\x00\x01\x7c",
	"field number above the maximum":   "\x80\x80\x80\x80\x10\x01",
	"field number that overflows":      "\xf8\x80\x80\x80\x80\x01\x01",
	"field number that becomes 0":      "\x80\x80\x80\x80\x80\x01\x01",
	"field number that turns negative": "\x80\x80\x80\x80\x40\x01",
}

// TestAcceptsWhatGeneratedCodeAccepts compares the package with the generated Unmarshal method of a
// message that has none of the fields.
func TestAcceptsWhatGeneratedCodeAccepts(t *testing.T) {
	for name, message := range messages {
		want := new(runtime.Unknown).Unmarshal([]byte(message))
		if got := skipFields([]byte(message)); (got == nil) != (want == nil) {
			t.Errorf("%s: error %v, generated code returns %v", name, got, want)
		}
	}
}

// FuzzSkip compares the package with generated code for fields that the generated code skips.
func FuzzSkip(f *testing.F) {
	for _, message := range messages {
		f.Add([]byte(message))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		var got error
		memory.ExpectProportional(t, len(message), 1, func() { got = skipFields(message) })
		if got == errKnownField {
			return
		}
		if want := new(runtime.Unknown).Unmarshal(message); (got == nil) != (want == nil) {
			t.Errorf("error %v, generated code returns %v", got, want)
		}
	})
}

var errKnownField = errors.New("field of runtime.Unknown")

// skipFields skips all fields of a message. It returns errKnownField at a field that
// runtime.Unknown has.
func skipFields(message []byte) error {
	for i := 0; i < len(message); {
		tag, next, err := Varint(message, i)
		if err != nil {
			return err
		}
		field, wire, err := SplitTag(tag)
		if err != nil {
			return err
		}
		if field <= 4 {
			return errKnownField
		}
		if i, err = Skip(message, next, wire); err != nil {
			return err
		}
	}
	return nil
}
