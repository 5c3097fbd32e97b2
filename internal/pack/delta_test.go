// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestDeltaSize(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	text := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('g' + random.IntN(20)) // no digits
		}
		return b
	}
	a, b, c := text(900), text(900), text(900)
	join := func(parts ...string) []byte {
		return bytes.Join([][]byte{a, []byte(parts[0]), b, []byte(parts[1]), c, []byte(parts[2])}, nil)
	}
	const header = checksumSize + 3
	id, other := fmt.Sprintf("%064x", 1), "c2272978966953482b00e42a05495d66df55577ede5c17bdf8285abfbafc780e"
	for _, tt := range []struct {
		name         string
		source, next []byte
		limit        int
	}{
		{"equal", join("", "", ""), join("", "", ""), 3},
		{"one byte", join("x", "", ""), join("y", "", ""), 7},
		{"UID", join("aa4953c4-a53f-4417-8d3e-3071b94e1d6f", "", ""), join("e26d0e11-2745-485e-86c5-1df69f9f1781", "", ""), 6 + 17},
		{"container ID", join(id, "", ""), join(other, "", ""), 7 + 32},
		{"longer IP address", join("10.0.0.1", "", ""), join("10.100.200.1", "", ""), 18},
		{"same change twice", join("uuuuuuu", "uuuuuuu", ""), join("vvvvvvv", "vvvvvvv", ""), 6 + 7 + 3},
		{"200 bytes inserted", join("", "", ""), join(string(c[:200]), "", ""), 20 + 200},
		{"200 bytes removed", join(string(text(200)), "", ""), join("", "", ""), 16},
		{"parts reordered", bytes.Join([][]byte{a, b, c}, nil), bytes.Join([][]byte{c, a, b}, nil), 24},
		{"shorter before a common suffix", join("", "", "uuuuuuuuuuuu-the end"), join("", "", "vv-the end"), 9},
		{"longer before a common suffix", join("", "", "u-the end"), join("", "", "vvvvvvvvvvvv-the end"), 19},
		{"truncated", join("", "", string(text(50))), join("", "", ""), 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := new(encoder)
			e.start(tt.next, tt.source, Excerpt{}, false)
			if !e.deltaEncode(1 << 20) {
				t.Fatal("deltaEncode stopped below its limit")
			}
			if got := len(e.out) - header; got > tt.limit {
				t.Errorf("takes %d bytes after the header, want at most %d: %q", got, tt.limit, e.out[header:])
			}
			if got, err := decode(nil, e.out, tt.source); err != nil || !bytes.Equal(got, tt.next) {
				t.Errorf("decoded %.100q with error %v", got, err)
			}
		})
	}
}

// TestCommonPrefix compares texts of every length up to a few blocks that differ at any place.
func TestCommonPrefix(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789"), 40)
	for size := range text {
		for _, differ := range []int{0, size / 3, size / 2, size - 1, size} {
			other := bytes.Clone(text)
			other[max(differ, 0)] = 'x'
			for _, tail := range []int{0, 1, 300} {
				other := other[:min(size+tail, len(other))]
				want := max(differ, 0)
				if got := commonPrefix(text[:size], other); got != min(want, size) {
					t.Fatalf("%d bytes and %d share %d, got %d", size, len(other), want, got)
				}
				if got := commonPrefix(other, text[:size]); got != min(want, size) {
					t.Fatalf("%d bytes and %d share %d, got %d", len(other), size, want, got)
				}
			}
		}
	}
}

// TestShiftedMatch places each match that a word can have at each shift, in the middle of a source
// and at its ends.
func TestShiftedMatch(t *testing.T) {
	source := make([]byte, 100)
	for i := range source {
		source[i] = byte(i)
	}
	for _, addr := range []int{0, 3, 6, 50, 86, 89, 92} {
		for shift := -maxShift; shift <= maxShift; shift++ {
			for skip := range matchStep {
				from := addr + shift
				if from < 0 || from+8 > len(source) {
					continue
				}
				raw := bytes.Repeat([]byte{0xff}, 8)
				copy(raw[skip:], source[from+skip:from+skip+minMatch])
				gotSkip, gotShift, ok := shiftedMatch(word(raw, 0), source, addr)
				if !ok || gotSkip != skip || gotShift != shift {
					t.Errorf("at %d: match %d with shift %d, want %d with %d", addr, gotSkip, gotShift, skip, shift)
				}
			}
		}
	}
	if _, _, ok := shiftedMatch(1<<64-1, source, 50); ok {
		t.Error("a match that does not exist was found")
	}
}

func TestDeltaEncodeStopsAtItsLimit(t *testing.T) {
	var many, others string
	for i := range 40 {
		many += fmt.Sprintf("the same in both: %016x", i)
		others += fmt.Sprintf("the same in both: %016x", uint64(i+1)*0x123456789)
	}
	for name, tt := range map[string][2]string{
		"nothing in common": {string(podLike(1, 0)), string(bytes.ToUpper(podLike(2, 0)))},
		"many differences":  {many + "the end", others + "the end"},
	} {
		e := new(encoder)
		e.start([]byte(tt[1]), []byte(tt[0]), Excerpt{}, false)
		if e.deltaEncode(200) {
			t.Errorf("%s: wrote %d bytes, the limit is 200", name, len(e.out))
		}
	}
}

// TestPackingIsDeterministic packs an object with a workspace that other objects have used.
func TestPackingIsDeterministic(t *testing.T) {
	p, w := New(), new(workspace)
	for i := range 100 {
		p.Pack(podLike(i, 0), "", Object{}, Excerpt{})
	}
	from := p.trainer.current.Load()
	first := w.packStandalone(podLike(300, 0), Excerpt{}, from)
	for i := range 20 {
		w.packStandalone(podLike(300+i, 1), Excerpt{}, from)
		if again := w.packStandalone(podLike(300, 0), Excerpt{}, from); again != first {
			t.Fatalf("%d bytes at first, %d after other objects", first.Size(), again.Size())
		}
	}
}

// TestWorkspaceForgetsFailedBase guards against reuse of a partly unpacked base.
func TestWorkspaceForgetsFailedBase(t *testing.T) {
	p, w := New(), new(workspace)
	raw := podLike(1, 0)
	good := p.Pack(raw, "owner", Object{}, Excerpt{})
	other := New().Pack(bytes.ToUpper(raw), "", Object{}, Excerpt{})
	bad := &source{object: other.withData(other.data[:len(other.data)-1])}
	for range 2 {
		if got, err := w.unpack(good.from); err != nil || !bytes.Equal(got, raw) {
			t.Fatalf("unpacked %q with error %v", got, err)
		}
		for range 2 {
			if _, err := w.unpack(bad); err == nil {
				t.Fatal("a corrupt base was unpacked")
			}
		}
	}
}

// TestWorkspaceForgetsIndexOfOtherBase moves parts of objects, so that their bases are indexed.
func TestWorkspaceForgetsIndexOfOtherBase(t *testing.T) {
	p, w := New(), new(workspace)
	front, back := podLike(1, 0), podLike(2, 0)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for _, text := range [][]byte{join(front, back), back[:200], join(back, front)} {
		base := p.Pack(text, string(text), Object{}, Excerpt{})
		raw := join(bytes.Repeat([]byte("-"), 300), back, front)
		o := w.packDelta(raw, Excerpt{}, base.from, false)
		if !w.encoder.baseIndex.valid {
			t.Error("the base was not indexed")
		}
		if !o.IsZero() {
			wantUnpacked(t, o, raw)
		}
	}
}

// TestWorkspaceForgetsIndexOfOtherDictionary packs an object that is in the second dictionary only.
func TestWorkspaceForgetsIndexOfOtherDictionary(t *testing.T) {
	w := new(workspace)
	raw := podLike(1, 0)
	for _, text := range [][]byte{podLike(2, 0), slices.Concat(podLike(3, 0), raw)} {
		from := &source{dictionary: text}
		got, want := w.packStandalone(raw, Excerpt{}, from), new(workspace).packStandalone(raw, Excerpt{}, from)
		if got.Size() != want.Size() {
			t.Errorf("the object packs to %d bytes, and to %d in a new workspace", got.Size(), want.Size())
		}
		wantUnpacked(t, got, raw)
	}
}

// TestEqualObjectsAreSampledOnce guards against a dictionary of a thousand equal ConfigMaps.
func TestEqualObjectsAreSampledOnce(t *testing.T) {
	p := New()
	for p.trainer.current.Load() == nil {
		p.Pack(podLike(1, 0), "", Object{}, Excerpt{})
	}
	before := len(p.trainer.sample)
	for range 100 {
		p.Pack(podLike(1, 0), "", Object{}, Excerpt{})
	}
	if now := len(p.trainer.sample); now != before {
		t.Errorf("the sample grew from %d to %d bytes", before, now)
	}
}
