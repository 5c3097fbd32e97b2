// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"bytes"
	"errors"
	"testing"

	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
)

// fuzzSeeds adds pairs of objects of the same workload and of different ones.
func fuzzSeeds(add func(a, b []byte)) {
	for i := range 8 {
		add(podLike(i, 0), podLike(i, 1))
		add(podLike(i, 0), podLike(i+1, 0))
	}
	add(nil, nil)
	add([]byte("0123456789abcdef-0123456789abcdef"), []byte("fedcba9876543210-fedcba9876543210"))
	add(bytes.Repeat([]byte("ab"), 500), bytes.Repeat([]byte("ba"), 400))
}

// wantDecoded decodes the output of an encoder.
func wantDecoded(t *testing.T, name string, e *encoder, raw, source []byte) {
	t.Helper()
	if !e.decodable() {
		return // Pack stores such an object uncompressed
	}
	if got, err := decode(nil, e.out, source); err != nil || !bytes.Equal(got, raw) {
		t.Fatalf("%s: %v\nraw    %q\nsource %q\nout    %q\ngot    %q", name, err, raw, source, e.out, got)
	}
}

// FuzzDelta encodes any bytes against any others, as a delta and with a dictionary.
func FuzzDelta(f *testing.F) {
	fuzzSeeds(func(a, b []byte) { f.Add(a, b) })
	f.Fuzz(func(t *testing.T, source, raw []byte) {
		e := new(encoder)
		e.start(raw, source, Excerpt{}, false)
		if !e.deltaEncode(len(raw) + 1000) {
			t.Fatalf("a delta of %d bytes against %d takes %d", len(raw), len(source), len(e.out))
		}
		wantDecoded(t, "delta", e, raw, source)
		text := source[:min(len(source), maxDictionary)]
		e.start(raw, text, Excerpt{}, false)
		e.dictEncode(newIndex(text))
		wantDecoded(t, "with dictionary", e, raw, text)
		e.start(raw, nil, Excerpt{}, false)
		e.dictEncode(nil)
		wantDecoded(t, "without dictionary", e, raw, nil)
	})
}

// FuzzUnpack decodes any bytes against any source.
func FuzzUnpack(f *testing.F) {
	fuzzSeeds(func(a, b []byte) {
		e := new(encoder)
		e.start(b, a, Excerpt{}, false)
		e.deltaEncode(1 << 20)
		f.Add(e.out, a)
		e.start(b, a, Excerpt{}, false)
		e.dictEncode(newIndex(a))
		f.Add(e.out, a)
	})
	f.Fuzz(func(t *testing.T, data, source []byte) {
		var got []byte
		var err error
		memory.ExpectProportional(t, maxGrowth*len(data)+4*len(source), 8, func() { got, err = decode([]byte("before"), data, source) })
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		checkAnyExcerpt(t, data, source)
		if err == nil && !bytes.HasPrefix(got, []byte("before")) {
			t.Fatalf("the destination was overwritten: %q", got)
		}
		if limit := maxGrowth*len(data) + 4*len(source); len(got) > limit+6 {
			t.Fatalf("%d packed bytes became %d", len(data), len(got))
		}
	})
}

// checkAnyExcerpt reads the excerpt of bytes that may be anything.
func checkAnyExcerpt(t *testing.T, data, text []byte) {
	t.Helper()
	if len(data) == 0 {
		return
	}
	o := Object{from: &source{dictionary: append(text, 0)}, data: string(data)}
	excerpt, _, err := o.AppendExcerpt([]byte("before"))
	if err != nil && !errors.Is(err, ErrCorrupt) || !bytes.HasPrefix(excerpt, []byte("before")) || len(excerpt) > maxGrowth*len(data)+4*len(text)+16 {
		t.Fatalf("excerpt %q, %v", excerpt, err)
	}
	o.ExcerptGroup()
}

// FuzzPackUnpack packs three objects, updates them, and moves them between owners.
func FuzzPackUnpack(f *testing.F) {
	fuzzSeeds(func(a, b []byte) { f.Add(a, b, bytes.ToUpper(b), "owner") })
	f.Fuzz(func(t *testing.T, a, b, c []byte, owner string) {
		p := New()
		one := packChecked(t, p, a, owner, Object{})
		two := packChecked(t, p, b, owner, Object{})
		three := packChecked(t, p, c, "", Object{})
		packChecked(t, p, c, owner, one)
		packChecked(t, p, a, owner, two)
		packChecked(t, p, b, owner, three)
		packChecked(t, p, b, "", two)
		for i := range 3 {
			p.Pack(podLike(i, 0), "", Object{}, Excerpt{}) // trains another dictionary
		}
		packChecked(t, p, a, owner, two)
		wantUnpacked(t, one, a)
		wantUnpacked(t, two, b)
		wantUnpacked(t, three, c)
	})
}
