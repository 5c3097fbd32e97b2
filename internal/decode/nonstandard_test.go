// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/protowire"
	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
)

// testedTypes returns types that together have every kind of field.
func testedTypes() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[corev1.Pod](), reflect.TypeFor[corev1.Node](), reflect.TypeFor[corev1.Secret](), reflect.TypeFor[corev1.Service](),
		reflect.TypeFor[certificatesv1.CertificateSigningRequest](), reflect.TypeFor[authorizationv1.SubjectAccessReview](),
		reflect.TypeFor[resourcev1.ResourceSlice](), reflect.TypeFor[discoveryv1.EndpointSlice](), reflect.TypeFor[coordinationv1.Lease](),
		reflect.TypeFor[corev1.PodSecurityContext](), reflect.TypeFor[corev1.ResourceRequirements](), reflect.TypeFor[metav1.FieldsV1](),
		reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[metav1.ObjectMeta](),
	}
}

// varintField returns an encoded number field.
func varintField(number int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number)<<3|protowire.TypeVarint), v)
}

// bytesField returns an encoded length-delimited field.
func bytesField(number int, content ...[]byte) []byte {
	joined := bytes.Join(content, nil)
	b := binary.AppendUvarint(nil, uint64(number)<<3|protowire.TypeBytes)
	return append(binary.AppendUvarint(b, uint64(len(joined))), joined...)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// nonstandard returns encodings, valid and invalid ones, that no Kubernetes component writes.
func nonstandard() map[string]struct {
	goType reflect.Type
	raw    []byte
} {
	type c = struct {
		goType reflect.Type
		raw    []byte
	}
	pod, meta := reflect.TypeFor[corev1.Pod](), reflect.TypeFor[metav1.ObjectMeta]()
	security, quantities := reflect.TypeFor[corev1.PodSecurityContext](), reflect.TypeFor[corev1.ResourceRequirements]()
	entry := func(parts ...[]byte) []byte { return bytesField(11, parts...) } // of ObjectMeta.labels
	key, value := bytesField(1, []byte("k")), bytesField(2, []byte("v"))
	container := bytesField(2, bytesField(1, []byte("name")))
	volume := bytesField(1, bytesField(1, []byte("volume")))
	affinity := func(b ...[]byte) []byte { return bytesField(18, b...) } // of PodSpec
	unknown := join(varintField(200, 1), bytesField(201, []byte("x")), []byte{0xd5, 0x0c, 1, 2, 3, 4}, []byte{0xd1, 0x0c, 1, 2, 3, 4, 5, 6, 7, 8})
	group := []byte{0xd3, 0x0c, 0x08, 0x01, 0xdb, 0x0c, 0xdc, 0x0c, 0xd4, 0x0c}
	// The tag of field 9 is the end of a number in field 4. Read as a tag, it has the next 40
	// bytes.
	overrun := join([]byte{4<<3 | 2, 1, 0x81, 9<<3 | 2}, varintField(5, 7), bytesField(9, make([]byte, 37)))
	return map[string]c{
		"empty input":                            {pod, nil},
		"duplicate scalar":                       {meta, join(bytesField(1, []byte("a")), bytesField(1, []byte("b")))},
		"duplicate message":                      {pod, join(bytesField(1, bytesField(1, []byte("a"))), bytesField(1, bytesField(3, []byte("b"))))},
		"duplicate message behind a pointer":     {pod, bytesField(2, affinity(bytesField(1)), affinity(bytesField(2)), affinity(bytesField(1, bytesField(1))))},
		"elements not consecutive":               {pod, bytesField(2, container, container, volume, container, volume)},
		"elements in two messages":               {pod, join(bytesField(2, container, volume), bytesField(2, container, affinity()))},
		"map entries not consecutive":            {meta, join(entry(key, value), bytesField(1, []byte("a")), entry(bytesField(1, []byte("l")), value), entry(key))},
		"map entry without value":                {meta, entry(key)},
		"map entry without key":                  {meta, entry(value)},
		"empty map entry":                        {meta, entry()},
		"map entry with duplicate key and value": {meta, entry(value, key, bytesField(2, []byte("w")), bytesField(1, []byte("l")))},
		"map entry with unknown fields":          {meta, entry(key, unknown, value, group)},
		"map key ends after its entry":           {meta, join([]byte{11<<3 | 2, 3, 1<<3 | 2, 5, 'a'}, []byte("bcde"), bytesField(1, []byte("x")))},
		"map key ends after its message":         {meta, []byte{11<<3 | 2, 3, 1<<3 | 2, 5, 'a'}},
		"map key ends in the next field":         {meta, join([]byte{11<<3 | 2, 3, 1<<3 | 2, 3, 'a'}, bytesField(14, []byte("x")))},
		"map key ends in another next field":     {meta, join([]byte{11<<3 | 2, 3, 1<<3 | 2, 3, 'a'}, bytesField(14, []byte("xy")))},
		"unknown field ends after its map entry": {meta, []byte{11<<3 | 2, 2, 3<<3 | 2, 5, 'a', 'b', 'c', 'd', 'e'}},
		"map key with wire type varint":          {meta, entry([]byte{1 << 3, 1, 'k'}, value)},
		"map entry with end-group tag":           {meta, entry([]byte{3<<3 | protowire.TypeEnd})},
		"duplicate quantity string":              {quantities, bytesField(1, key, bytesField(2, bytesField(1, []byte("1")), bytesField(1, []byte("2"))))},
		"missing quantity":                       {quantities, join(bytesField(1, key, bytesField(2)), bytesField(1, bytesField(1, []byte("l"))))},
		"malformed quantity":                     {quantities, bytesField(1, key, bytesField(2, bytesField(1, []byte("many"))))},
		"malformed and valid quantity":           {quantities, bytesField(1, key, bytesField(2, bytesField(1, []byte("many"))), bytesField(2, bytesField(1, []byte("1"))))},
		"quantity with unknown fields":           {quantities, bytesField(1, key, bytesField(2, unknown, bytesField(1, []byte("1")), unknown))},
		"quantity with negative length":          {quantities, bytesField(1, key, bytesField(2, []byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}))},
		"packed numbers":                         {security, bytesField(4, []byte{1, 2, 0x80, 1})},
		"packed and unpacked numbers":            {security, join(varintField(4, 7), bytesField(4, []byte{1, 2}), varintField(4, 8), bytesField(4))},
		"empty packed field":                     {security, bytesField(4)},
		"packed number ends after its field":     {security, join([]byte{4<<3 | 2, 1, 0x81}, varintField(1, 5))},
		"packed number ends in another field":    {security, overrun},
		"number with wire type fixed32":          {security, []byte{4<<3 | protowire.TypeFixed32, 1, 2, 3, 4}},
		"unknown fields":                         {pod, join(unknown, group, bytesField(1, unknown, group))},
		"unterminated group":                     {pod, group[:4]},
		"unmatched end-group tag":                {pod, []byte{0xd4, 0x0c}},
		"truncated field after the last number":  {meta, join(varintField(math.MaxInt32, 1), []byte{1<<3 | 2, 5})},
		"field number 0":                         {pod, []byte{2, 0}},
		"negative field number":                  {pod, []byte{0xfa, 0xff, 0xff, 0xff, 0xff, 0x1f, 0}},
		"message":                                {pod, bytesField(1, bytesField(1, []byte("a")))},
		"unknown wire type":                      {pod, []byte{0xd6, 0x0c, 1}},
		"wrong wire type":                        {pod, varintField(1, 1)},
		"overlong varints":                       {meta, join([]byte{0x8a, 0x80, 0x00, 0x81, 0x00, 'a'}, []byte{7 << 3, 0x85, 0x80, 0x80, 0x00})},
		"varint of 11 bytes":                     {meta, append([]byte{7 << 3}, bytes.Repeat([]byte{0x80}, 11)...)},
		"number out of range":                    {security, join(varintField(3, 1<<40), varintField(1, 1<<63))},
		"negative length":                        {meta, join([]byte{10}, binary.AppendUvarint(nil, 1<<63))},
		"length out of range":                    {meta, join([]byte{10}, binary.AppendUvarint(nil, 1<<63-1))},
		"truncated element":                      {pod, bytesField(2, container, []byte{2<<3 | 2, 9, 1})},
		"empty bytes":                            {reflect.TypeFor[metav1.FieldsV1](), bytesField(1)},
		"duplicate bytes":                        {reflect.TypeFor[metav1.FieldsV1](), join(bytesField(1, []byte("long")), bytesField(1, []byte("s")))},
		"time with unknown fields":               {reflect.TypeFor[metav1.Time](), join(unknown, varintField(1, 5), group, varintField(1, 7))},
		"time with wire type bytes":              {reflect.TypeFor[metav1.Time](), bytesField(1, []byte("x"))},
		"nanoseconds":                            {reflect.TypeFor[metav1.MicroTime](), join(varintField(1, 5), varintField(2, 123456789))},
		"time with only unknown fields":          {reflect.TypeFor[metav1.Time](), unknown},
	}
}

func TestNonstandardInput(t *testing.T) {
	for name, c := range nonstandard() {
		t.Run(name, func(t *testing.T) {
			checkDecode(t, c.raw, 2, newDecoders(t, c.goType)...)
		})
	}
}

// TestMutatedInput decodes encodings with a few bytes changed, deleted or duplicated.
func TestMutatedInput(t *testing.T) {
	for n, goType := range testedTypes() {
		random := rand.New(rand.NewPCG(1, uint64(n)))
		decoders := newDecoders(t, goType)
		for seed := range int64(4) {
			raw := randomEncoding(t, goType, seed, 0.3)
			for range mutatedRounds {
				checkDecode(t, mutate(random, raw), 1, decoders...)
			}
		}
	}
}

// mutate returns a copy of raw with a few changes.
func mutate(random *rand.Rand, raw []byte) []byte {
	b := slices.Clone(raw)
	for range 1 + random.IntN(3) {
		if len(b) < 2 {
			return b
		}
		i := random.IntN(len(b))
		j := min(len(b), i+1+random.IntN(20))
		switch random.IntN(5) {
		case 0:
			b[i] = byte(random.IntN(256))
		case 1:
			b[i] ^= 1 << random.IntN(8)
		case 2:
			b = slices.Delete(b, i, j)
		case 3:
			b = slices.Insert(b, i, b[i:j]...)
		default:
			b = append(b, b...) // every field occurs twice and is merged
			b = b[:len(b)-random.IntN(2)]
		}
	}
	return b
}

// largestElement is more than the size of the largest struct in a slice, half of which a byte
// encodes.
const largestElement = 2000

// FuzzDecode compares Decode with generated code for one of testedTypes.
func FuzzDecode(f *testing.F) {
	types := testedTypes()
	decoders, measured := make([][]*Decoder, len(types)), make([]*Decoder, len(types))
	for n, goType := range types {
		decoders[n] = newDecoders(f, goType)
		measured[n] = newDecoder(f, goType, Options{SmallTables: true}) // a large table grows by megabytes at once
		f.Add(byte(n), randomEncoding(f, goType, 1, 0.15))
	}
	for _, c := range nonstandard() {
		f.Add(byte(slices.Index(types, c.goType)), c.raw)
	}
	f.Fuzz(func(t *testing.T, n byte, raw []byte) {
		d := decoders[int(n)%len(types)]
		memory.ExpectProportional(t, len(raw), largestElement, func() { _, _ = measured[int(n)%len(types)].Decode(raw) })
		checkDecode(t, raw, 1, d...)
	})
}
