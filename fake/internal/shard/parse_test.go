// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard_test

import (
	"strings"
	"testing"

	"github.com/kinformer/kinformer/fake/internal/shard"
)

const (
	lower = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
	upper = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"
)

func TestValidSelectors(t *testing.T) {
	for text, want := range map[string]string{
		lower:                              lower,
		lower + " || " + upper:             lower + " || " + upper,
		upper + "||" + lower:               upper + " || " + lower,
		" \n" + lower + "\t\f\r ":          lower,
		strings.ReplaceAll(upper, " ", ""): upper,
		"shardRange (object . metadata\n. uid,\"0x0000000000000000\" ,'0x8000000000000000' )":       lower,
		"shardRange(object.metadata.namespace, '0x00000000000000aa', '0x00000000000000ff')":         "shardRange(object.metadata.namespace, '0x00000000000000aa', '0x00000000000000ff')",
		strings.Repeat(lower+" || ", 99) + upper:                                                    strings.Repeat(lower+" || ", 99) + upper,
		"shardRange(object.metadata.uid, '0xfffffffffffffffe', '0xffffffffffffffff') || " + lower:   "shardRange(object.metadata.uid, '0xfffffffffffffffe', '0xffffffffffffffff') || " + lower,
		"shardRange(object.metadata.uid, '0x0000000000000000', '0x10000000000000000') || " + lower:  "shardRange(object.metadata.uid, '0x0000000000000000', '0x10000000000000000') || " + lower,
		"shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')||\n\n" + upper: lower + " || " + upper,
	} {
		selector, err := shard.Parse(text)
		if err != nil || selector.String() != want {
			t.Errorf("Parse(%q): got %v, %v, want %s", text, selector, err, want)
		}
	}
}

func TestInvalidSelectorsAreErrors(t *testing.T) {
	of := func(arguments string) string { return "shardRange(" + arguments + ")" }
	ofUID := func(bounds string) string { return of("object.metadata.uid, " + bounds) }
	for text, want := range map[string]string{
		"":                     "empty shard selector is not allowed; omit the parameter for unfiltered lists",
		" \n":                  "empty shard selector is not allowed; omit the parameter for unfiltered lists",
		"label=x":              `CEL parse error: Syntax error: unexpected "=x"`,
		"object.metadata.uid":  `CEL parse error: `,
		lower + " && " + upper: `CEL parse error: `,
		lower + " ||":          `CEL parse error: `,
		"|| " + lower:          `CEL parse error: `,
		lower + " " + upper:    `CEL parse error: `,
		lower + " | " + upper:  `CEL parse error: `,
		lower[:len(lower)-1]:   `CEL parse error: `,
		lower + ")":            `CEL parse error: `,
		of("object.metadata., '0x0000000000000000', '0x8000000000000000'"): `CEL parse error: `,
		ofUID("'0x0000000000000000', '0x8000000000000000',"):               `CEL parse error: `,
		ofUID("'0x0000000000000000, '0x8000000000000000'"):                 `CEL parse error: `,
		ofUID("0, 8"): `CEL parse error: `,

		"hash('x')":         `unsupported function "hash"; only shardRange() and || are allowed`,
		of(""):              "shardRange() requires exactly 3 arguments, got 0",
		ofUID("'0x00'"):     "shardRange() requires exactly 3 arguments, got 2",
		of("'u', 'a', 'b'"): "shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind 5",
		of("object.metadata.name, '0x00', '0x80'"): `unsupported field path "object.metadata.name"; supported: object.metadata.uid, object.metadata.namespace`,
		of("metadata.uid, '0x00', '0x80'"):         `unsupported field path "metadata.uid"; supported: object.metadata.uid, object.metadata.namespace`,
		lower + " || shardRange(object.metadata.namespace, '0x8000000000000000', '0x10000000000000000')": `all shard ranges must use the same field, got "object.metadata.uid" and "object.metadata.namespace"`,

		ofUID("x, '0x8000000000000000'"):                     "hexStart must be a string literal (e.g. '0xff'), got expression kind 3",
		ofUID("'0x0000000000000000', a.b"):                   "hexEnd must be a string literal (e.g. '0xff'), got expression kind 7",
		ofUID("'0000000000000000', '0x8000000000000000'"):    `hexStart must have '0x' prefix, got "0000000000000000"`,
		ofUID("'0X0000000000000000', '0x8000000000000000'"):  `hexStart must have '0x' prefix, got "0X0000000000000000"`,
		ofUID("'0x', '0x8000000000000000'"):                  "hexStart: hex value is required after '0x'",
		ofUID("'0x000000000000000000', '0x80'"):              `hexStart: hex value too long (18 chars, max 17): "000000000000000000"`,
		ofUID("'0x00g', '0x80'"):                             `hexStart: invalid hex character "g" in "0x00g"`,
		ofUID("'0x00000000000000FF', '0x8000000000000000'"):  `hexStart: invalid hex character "F" in "0x00000000000000FF"`,
		ofUID("'0x0', '0x8000000000000000'"):                 `hexStart must be a 0x-prefixed 16-digit hex value, got "0x0" (did you mean "0x0000000000000000"?)`,
		ofUID("'0x0000000000000000', '0xff'"):                `hexEnd must be a 0x-prefixed 16-digit hex value, got "0xff" (did you mean "0x00000000000000ff"?)`,
		ofUID("'0x0000000000000000', '0x10000000000000001'"): `hexEnd: 17-digit hex value must be '0x10000000000000000' (2^64), got "0x10000000000000001"`,
		ofUID("'0x8000000000000000', '0x8000000000000000'"):  "shard range start 0x8000000000000000 must be less than end 0x8000000000000000",
		ofUID("'0xffffffffffffffff', '0x0000000000000000'"):  "shard range start 0xffffffffffffffff must be less than end 0x0000000000000000",
	} {
		_, err := shard.Parse(text)
		if err == nil || err.Error() != want && !(strings.HasSuffix(want, ": ") && strings.HasPrefix(err.Error(), want)) {
			t.Errorf("Parse(%q): got error %v, want %s", text, err, want)
		}
	}
}
