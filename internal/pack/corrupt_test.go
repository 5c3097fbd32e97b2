// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
)

// example is a packed object of one form, and its unpacked bytes.
type example struct {
	name string
	o    Object
	raw  []byte
}

func examples(tb testing.TB) []example {
	tb.Helper()
	p := New()
	var all []example
	add := func(name string, raw []byte, owner string) {
		all = append(all, example{name, packChecked(tb, p, raw, owner, Object{}), raw})
	}
	add("without dictionary", podLike(0, 0), "")
	for i := range 150 {
		packChecked(tb, p, podLike(i, 0), "", Object{})
	}
	add("with dictionary", podLike(200, 0), "")
	add("base", podLike(201, 0), "owner")
	add("delta", podLike(201, 1), "owner")
	if delta := all[len(all)-1].o; delta.isBase() {
		tb.Fatal("the second object of an owner is not a delta")
	}
	add("repetitive", []byte(strings.Repeat("abcdefgh", 30)), "")
	add("uncompressed", []byte(strings.Repeat("a", 100_000)), "")
	add("empty", nil, "")
	return all
}

// variants yields corruptions of data: each bit flipped, each byte removed, truncated everywhere,
// and with bytes appended. Truncation to nothing is left out, because a base has no data.
func variants(data string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		step := 1 + len(data)/4096 // samples long data
		for at := 0; at < len(data); at += step {
			for bit := range 8 {
				flipped := data[:at] + string([]byte{data[at] ^ 1<<bit}) + data[at+1:]
				if !yield(flipped) {
					return
				}
			}
			if at > 0 && !yield(data[:at]) || !yield(data[:at]+data[at+1:]) {
				return
			}
		}
		yield(data + "\x00")
		yield(data + data)
	}
}

// wantIntactOrError unpacks a possibly corrupt object and reports whether that failed.
func wantIntactOrError(t *testing.T, name string, o Object, raw []byte) (failed bool) {
	t.Helper()
	got, err := o.Unpack(nil)
	switch {
	case err != nil && !errors.Is(err, ErrCorrupt):
		t.Fatalf("%s: error %v does not wrap ErrCorrupt", name, err)
	case err == nil && !bytes.Equal(got, raw):
		t.Fatalf("%s: unpacked another object:\n%.200q\n%.200q", name, got, raw)
	}
	return err != nil
}

func TestCorruptBytesAreDetected(t *testing.T) {
	for _, x := range examples(t) {
		t.Run(x.name, func(t *testing.T) {
			data, with := x.o.data, func(data string) Object { return Object{from: x.o.from, data: data} }
			if x.o.isBase() {
				data = x.o.from.object.data
				with = func(data string) Object { return x.o.from.object.withData(data) }
			}
			tried, found := 0, 0
			for corrupt := range variants(data) {
				tried++
				if wantIntactOrError(t, x.name, with(corrupt), x.raw) {
					found++
				}
			}
			if found*2 < tried {
				t.Errorf("%d of %d corruptions were detected", found, tried)
			}
		})
	}
}

func (o Object) withData(data string) Object { o.data = data; return o }

// TestCorruptSourcesAreDetected corrupts what several objects share.
func TestCorruptSourcesAreDetected(t *testing.T) {
	for _, x := range examples(t) {
		if x.name != "delta" && x.name != "with dictionary" {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			if x.name == "with dictionary" {
				text := x.o.from.dictionary
				for at := 0; at < len(text); at += 7 {
					text[at] ^= 4
					wantIntactOrError(t, x.name, x.o, x.raw)
					text[at] ^= 4
				}
				return
			}
			base := x.o.from
			for corrupt := range variants(base.object.data) {
				from := &source{object: base.object.withData(corrupt), length: base.length, pool: base.pool}
				wantIntactOrError(t, x.name, Object{from: from, data: x.o.data}, x.raw)
			}
		})
	}
}

// TestCorruptBytesAllocateLittle checks that a corrupt length does not allocate its memory.
func TestCorruptBytesAllocateLittle(t *testing.T) {
	for _, x := range examples(t) {
		for corrupt := range variants(x.o.data) {
			limit := uint64(2*maxGrowth*len(corrupt) + 8*maxDictionary + 64<<10)
			if got := memory.Allocated(func() { _, _ = x.o.withData(corrupt).Unpack(nil) }); got > limit {
				t.Fatalf("%s: %d packed bytes allocated %d", x.name, len(corrupt), got)
			}
		}
	}
}

func TestRandomBytesAreDetected(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	delta := examples(t)[3].o
	for range randomInputs {
		data := make([]byte, random.IntN(60))
		for i := range data {
			data[i] = byte(random.IntN(256)) >> (random.IntN(2) * 4)
		}
		if _, err := delta.withData("1234" + string(data)).Unpack(nil); err == nil {
			t.Fatalf("random bytes %q were unpacked", data)
		}
	}
}

func TestErrorNamesTheCorruption(t *testing.T) {
	delta := examples(t)[3].o
	broken := &source{object: Object{data: "123456"}, pool: delta.from.pool}
	for want, o := range map[string]Object{
		"zero object":                  {},
		"truncated header of 1 bytes":  delta.withData("1"),
		"implausible length 1048575":   delta.withData("1234\xff\xff\x3f\x010"),
		"no place of an excerpt":       delta.withData("1234\x05"),
		"excerpt of 1 bytes at 5 of 5": delta.withData("1234\x05\x03\x05"),
		"excerpt of 6 bytes at 0 of 5": delta.withData("1234\x05\x08\x00"),
		"invalid instruction before":   delta.withData("1234\x05\x01\x07\xff\xff\x7f"),
		"decoded 1 of 5 bytes":         delta.withData("1234\x05\x01\x08a\x00"),
		"checksum mismatch":            delta.withData("1234\x01\x01\x08a\x00"),
		"unpack base: corrupt":         {from: broken, data: delta.data},
	} {
		if _, err := o.Unpack(nil); !errors.Is(err, ErrCorrupt) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
}

// TestNumbersThatOverflowAreDetected also runs on 386, where they overflow an int.
func TestNumbersThatOverflowAreDetected(t *testing.T) {
	delta := examples(t)[3].o
	for _, n := range []uint64{1<<31 - maxShort, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<64 - 1} {
		number := string(binary.AppendUvarint(nil, n))
		for op := range byte(1 << opcodeBits) {
			for name, instruction := range map[string]string{
				"literal": string([]byte{maxShort<<opcodeBits | op}) + number,
				"copy":    string([]byte{1<<opcodeBits | op}) + "a\x01" + number + number,
			} {
				if _, err := delta.withData("1234\x05\x01" + instruction).Unpack(nil); !errors.Is(err, ErrCorrupt) {
					t.Errorf("%s of opcode %d with %d: error %v", name, op, n, err)
				}
			}
		}
	}
}
