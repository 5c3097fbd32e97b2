// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package randomapi

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The wire types of protobuf.
const (
	varint = 0
	length = 2
)

// unknown are encoded fields that no type has.
var unknown = [][]byte{
	{0xc8, 0x0c, 1}, {0xca, 0x0c, 1, 'x'}, {0xd5, 0x0c, 1, 2, 3, 4}, {0xd1, 0x0c, 1, 2, 3, 4, 5, 6, 7, 8}, {0xd3, 0x0c, 0x08, 0x01, 0xdb, 0x0c, 0xdc, 0x0c, 0xd4, 0x0c},
}

// Encode returns an object in protobuf and in JSON.
func Encode(tb testing.TB, object interface{ Marshal() ([]byte, error) }) (protobuf, text []byte) {
	tb.Helper()
	protobuf, err := object.Marshal()
	if err != nil {
		tb.Fatal(err)
	}
	text, err = json.Marshal(object)
	if err != nil {
		tb.Fatal(err)
	}
	return protobuf, text
}

// VaryProtobuf returns another encoding of a message of a Go type, perhaps of another value: fields
// are missing, in another order and occur twice, a message is in two parts, and there are unknown
// fields.
func VaryProtobuf(random *rand.Rand, t reflect.Type, raw []byte) []byte {
	var fields [][]byte
	messages := messagesOf(t)
	for len(raw) > 0 {
		tag, n := binary.Uvarint(raw)
		_, size := binary.Uvarint(raw[n:])
		if tag&7 == varint {
			fields = append(fields, raw[:n+size])
			raw = raw[n+size:]
			continue
		}
		content, of := raw[n+size:], messages[int(tag>>3)]
		stated, _ := binary.Uvarint(raw[n:])
		content, raw = content[:stated], content[stated:]
		if of == nil {
			fields = append(fields, lengthDelimited(tag, content))
			continue
		}
		fields = append(fields, lengthDelimited(tag, VaryProtobuf(random, of, content)))
		if random.IntN(8) == 0 { // merged, or one more element
			fields = append(fields, lengthDelimited(tag, VaryProtobuf(random, of, content)))
		}
	}
	return bytes.Join(vary(random, fields), nil)
}

// vary drops, repeats and moves fields, and adds unknown ones.
func vary(random *rand.Rand, fields [][]byte) (varied [][]byte) {
	for _, field := range fields {
		switch random.IntN(16) {
		case 0:
		case 1:
			varied = append(varied, field, field)
		case 2:
			varied = append(varied, unknown[random.IntN(len(unknown))], field)
		default:
			varied = append(varied, field)
		}
	}
	if random.IntN(8) == 0 {
		random.Shuffle(len(varied), func(i, j int) { varied[i], varied[j] = varied[j], varied[i] })
	}
	return varied
}

func lengthDelimited(tag uint64, content []byte) []byte {
	b := binary.AppendUvarint(binary.AppendUvarint(nil, tag), uint64(len(content)))
	return append(b, content...)
}

// messagesOf returns the types of a struct's fields that are encoded as messages of their fields,
// by number.
func messagesOf(t reflect.Type) map[int]reflect.Type {
	messages := map[int]reflect.Type{}
	if t.Kind() != reflect.Struct {
		return messages
	}
	for field := range t.Fields() {
		parts := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(parts) < 2 {
			continue
		}
		elem := field.Type
		for elem.Kind() == reflect.Pointer || elem.Kind() == reflect.Slice {
			elem = elem.Elem()
		}
		if number, err := strconv.Atoi(parts[1]); err == nil && elem.Kind() == reflect.Struct && !isWhole(elem) {
			messages[number] = elem
		}
	}
	return messages
}

// VaryJSON returns another encoding of an object in JSON, perhaps of another value: members are
// missing, null, in another order and occur twice, and there are unknown ones, escapes and spaces.
func VaryJSON(random *rand.Rand, raw []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		panic(err) // of what the caller has encoded
	}
	return appendJSON(random, nil, value, random.IntN(2) == 0)
}

// appendJSON appends a value. With duplicates, members may occur twice.
func appendJSON(random *rand.Rand, b []byte, value any, duplicates bool) []byte {
	switch v := value.(type) {
	case map[string]any:
		b = append(b, '{')
		names := slices.Sorted(maps.Keys(v))
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			member := v[name]
			switch random.IntN(30) {
			case 0:
				continue
			case 1:
				member = nil
			case 2:
				b = append(b, `"unknown":"x" , `...)
			case 3:
				b = append(b, `"other":[{"a":{}},[]],`...)
			case 4:
				if duplicates {
					b = append(appendMember(random, b, name, member, false), ',')
				}
			}
			b = append(appendMember(random, b, name, member, duplicates), ',')
		}
		return append(bytes.TrimSuffix(b, []byte{','}), '}')
	case []any:
		b = append(b, '[')
		for _, element := range v {
			if random.IntN(30) == 0 {
				element = nil
			}
			b = append(appendJSON(random, b, element, duplicates), ',')
		}
		return append(bytes.TrimSuffix(b, []byte{','}), ']')
	default:
		encoded, _ := json.Marshal(value)
		return append(b, encoded...)
	}
}

func appendMember(random *rand.Rand, b []byte, name string, member any, duplicates bool) []byte {
	quoted, _ := json.Marshal(name)
	if random.IntN(8) == 0 && name != "" && name[0] >= 'a' && name[0] <= 'z' {
		quoted = []byte(`"\u00` + strconv.FormatInt(int64(name[0]), 16) + string(quoted[2:]))
	}
	b = append(append(b, quoted...), ':')
	if random.IntN(8) == 0 {
		b = append(b, " \n"...)
	}
	return appendJSON(random, b, member, duplicates)
}
