package pack

import (
	"bytes"
	"errors"
	"testing"
)

// fuzzSeeds are objects and their siblings.
func fuzzSeeds(add func(a, b []byte)) {
	for i := range 8 {
		add(podLike(i, 0), podLike(i, 1))
		add(podLike(i, 0), podLike(i+1, 0))
	}
	add(nil, nil)
	add([]byte("0123456789abcdef-0123456789abcdef"), []byte("fedcba9876543210-fedcba9876543210"))
	add(bytes.Repeat([]byte("ab"), 500), bytes.Repeat([]byte("ba"), 400))
}

// wantDecoded decodes what an encoder has written.
func wantDecoded(t *testing.T, what string, e *encoder, raw, source []byte) {
	t.Helper()
	if !e.sound() {
		return // nobody stores it
	}
	if got, err := decode(nil, e.out, source); err != nil || !bytes.Equal(got, raw) {
		t.Fatalf("%s: %v\nraw    %q\nsource %q\nout    %q\ngot    %q", what, err, raw, source, e.out, got)
	}
}

// FuzzDelta writes any bytes against any others, in both ways.
func FuzzDelta(f *testing.F) {
	fuzzSeeds(func(a, b []byte) { f.Add(a, b) })
	f.Fuzz(func(t *testing.T, source, raw []byte) {
		e := new(encoder)
		e.start(raw, source)
		if !e.siblings(len(raw) + 1000) {
			t.Fatalf("%d bytes against %d take %d", len(raw), len(source), len(e.out))
		}
		wantDecoded(t, "siblings", e, raw, source)
		text := source[:min(len(source), maxDictionary)]
		e.start(raw, text)
		e.strangers(newIndex(text))
		wantDecoded(t, "strangers", e, raw, text)
		e.start(raw, nil)
		e.strangers(nil)
		wantDecoded(t, "alone", e, raw, nil)
	})
}

// FuzzUnpack unpacks any bytes, with a checksum that is right as often as not.
func FuzzUnpack(f *testing.F) {
	fuzzSeeds(func(a, b []byte) {
		e := new(encoder)
		e.start(b, a)
		e.siblings(1 << 20)
		f.Add(e.out, a)
		e.start(b, a)
		e.strangers(newIndex(a))
		f.Add(e.out, a)
	})
	f.Fuzz(func(t *testing.T, data, source []byte) {
		got, err := decode([]byte("before"), data, source)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		if err == nil && !bytes.HasPrefix(got, []byte("before")) {
			t.Fatalf("%q", got)
		}
		if limit := maxGrowth*len(data) + 4*len(source); len(got) > limit+6 {
			t.Fatalf("%d bytes came out of %d", len(got), len(data))
		}
	})
}

// FuzzPackUnpack takes three objects through a life: listed as siblings, updated,
// and relisted by their owner or without.
func FuzzPackUnpack(f *testing.F) {
	fuzzSeeds(func(a, b []byte) { f.Add(a, b, bytes.ToUpper(b), "owner") })
	f.Fuzz(func(t *testing.T, a, b, c []byte, owner string) {
		p := New()
		one := checked(t, p, a, owner, Object{})
		two := checked(t, p, b, owner, Object{})
		three := checked(t, p, c, "", Object{})
		checked(t, p, c, owner, one)
		checked(t, p, a, owner, two)
		checked(t, p, b, owner, three)
		checked(t, p, b, "", two)
		for i := range 3 {
			p.Pack(podLike(i, 0), "", Object{}) // another dictionary
		}
		checked(t, p, a, owner, two)
		wantUnpacked(t, one, a)
		wantUnpacked(t, two, b)
		wantUnpacked(t, three, c)
	})
}
