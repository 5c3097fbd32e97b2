// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/internal/testing/random"
)

// packChecked packs an object and checks that it can be unpacked.
func packChecked(tb testing.TB, p *Packer, raw []byte, owner string, old Object) Object {
	tb.Helper()
	passed := bytes.Clone(raw)
	excerpt := someExcerpt(raw)
	o := p.Pack(passed, owner, old, excerpt)
	for i := range passed {
		passed[i] = 0xee // Pack must not retain it
	}
	wantUnpacked(tb, o, raw)
	wantExcerpt(tb, o, raw, excerpt)
	return o
}

// someExcerpt returns none, an empty one or another one, depending on the bytes.
func someExcerpt(raw []byte) Excerpt {
	switch n := len(raw); n % 4 {
	case 0:
		return Excerpt{}
	case 1:
		return Excerpt{n / 2, n / 2, true}
	default:
		return Excerpt{n / 4, n / 2, true}
	}
}

func wantExcerpt(tb testing.TB, o Object, raw []byte, want Excerpt) {
	tb.Helper()
	got, ok, err := o.AppendExcerpt([]byte("before"))
	if err != nil || ok != want.Known || string(got) != "before"+string(want.of(raw)) {
		tb.Fatalf("excerpt %q, %v, %v, want %q, %v", got, ok, err, want.of(raw), want.Known)
	}
}

func wantUnpacked(tb testing.TB, o Object, raw []byte) {
	tb.Helper()
	got, err := o.Unpack([]byte("before"))
	if err != nil || string(got) != "before"+string(raw) {
		tb.Fatalf("packed %d bytes, unpacked %d: %v\npacked   %.200q\nunpacked %.200q", len(raw), len(got)-6, err, raw, got)
	}
}

// podLike returns bytes that look like a Pod of a workload in protobuf or JSON.
func podLike(workload, replica int) []byte {
	shape := rand.New(rand.NewPCG(uint64(workload), 0))
	own := rand.New(rand.NewPCG(uint64(workload), uint64(replica)+1))
	var b bytes.Buffer
	app := fmt.Sprintf("app-%x", shape.Uint32())
	fmt.Fprintf(&b, "\n\x82\x17\n%s-%x\x12\x04prod*$%s2\n%d", app, own.Uint32(), uid(own), 1_000_000_000+own.IntN(1e6))
	for i := range 1 + shape.IntN(20) {
		fmt.Fprintf(&b, "\x1a\x10\n\x08LABEL_%d\x12\x04%s/%x", i, app, shape.Uint32()%64)
	}
	for i := range 1 + shape.IntN(4) {
		fmt.Fprintf(&b, `{"f:containers":{"k:{\"name\":\"c%d\"}":{".":{},"f:image":{},"f:name":{},"f:resources":{}}}}`, i)
		fmt.Fprintf(&b, "Jcontainerd://%x%x%x%x", own.Uint64(), own.Uint64(), own.Uint64(), own.Uint64())
	}
	fmt.Fprintf(&b, "r\x0c10.%d.%d.%dz\x0fip-10-0-%d", own.IntN(256), own.IntN(256), own.IntN(256), own.IntN(3000))
	return b.Bytes()
}

func uid(r *rand.Rand) string {
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<12), r.IntN(1<<12), r.Uint64N(1<<48))
}

func TestObjectsOfOneOwnerCompress(t *testing.T) {
	p, size, raw := New(), 0, 0
	for workload := range 60 {
		for replica := range 20 {
			pod := podLike(workload, replica)
			o := packChecked(t, p, pod, fmt.Sprint(workload), Object{})
			if replica > 0 {
				size, raw = size+o.Size(), raw+len(pod)
			}
		}
	}
	if size*4 > raw {
		t.Errorf("objects of %d bytes pack to %d", raw, size)
	}
}

func TestDictionaryCompressesObjectsWithoutOwner(t *testing.T) {
	p := New()
	first := packChecked(t, p, podLike(0, 0), "", Object{}).Size()
	for i := range 200 {
		packChecked(t, p, podLike(i, 0), "", Object{})
	}
	if now := packChecked(t, p, podLike(0, 1), "", Object{}).Size(); now*3 > first*2 {
		t.Errorf("an object packs to %d bytes without a dictionary and to %d with one", first, now)
	}
	if !p.trainer.done.Load() || p.trainer.sample != nil {
		t.Error("training did not end")
	}
}

func TestUpdateKeepsItsBaseWhileThatSavesSpace(t *testing.T) {
	p := New()
	base := packChecked(t, p, podLike(1, 0), "owner", Object{})
	sibling := packChecked(t, p, podLike(1, 1), "owner", Object{})
	if sibling.from != base.from || !base.from.shared.Load() {
		t.Fatal("the second object is not packed against the first")
	}
	next := packChecked(t, p, append(podLike(1, 1), "and more"...), "owner", sibling)
	if next.from != base.from {
		t.Error("a small update changed the base")
	}
	unlike := func(replica int) []byte { return bytes.ToUpper(podLike(2, replica)) }
	other := packChecked(t, p, unlike(0), "owner", next)
	if other.from == base.from || !other.isBase() {
		t.Error("an object unlike its base did not become a base")
	}
	moved := packChecked(t, p, unlike(1), "owner", next)
	if moved.from != other.from {
		t.Error("an object is not packed against the newest base of its owner")
	}
	wantUnpacked(t, sibling, podLike(1, 1))
}

// TestGrownObjectBecomesTheBase updates Pods from no status to one: the first that has a status is
// the base of those that follow.
func TestGrownObjectBecomesTheBase(t *testing.T) {
	p := New()
	for i := range 100 {
		packChecked(t, p, podLike(i, 0), "", Object{})
	}
	const workload, replicas = 700, 10
	status := podLike(701, 0)
	var objects [replicas]Object
	for i := range objects {
		objects[i] = packChecked(t, p, podLike(workload, i), "owner", Object{})
	}
	size := 0
	for i := range objects {
		objects[i] = packChecked(t, p, append(podLike(workload, i), status...), "owner", objects[i])
		size += objects[i].Size()
	}
	if standalone := New().Pack(append(podLike(workload, 0), status...), "", Object{}, Excerpt{}).Size(); size > replicas*standalone/2 {
		t.Errorf("%d objects with a status take %d bytes, a standalone one %d", replicas, size, standalone)
	}
	if !objects[0].isBase() || objects[1].from != objects[0].from {
		t.Error("the first object with a status is not the base of the others")
	}
}

// TestUnsharedBaseIsReplaced updates the only object of an owner: its delta must not grow large
// beside a base that no other object uses.
func TestUnsharedBaseIsReplaced(t *testing.T) {
	p := New()
	for i := range 100 {
		packChecked(t, p, podLike(i, 0), "", Object{})
	}
	o := packChecked(t, p, podLike(500, 0), "owner", Object{})
	limit := o.Size() * 3 / 2
	for i := range 50 {
		o = packChecked(t, p, podLike(500, i), "owner", o)
		total := o.Size()
		if !o.isBase() {
			total += len(o.from.object.data)
		}
		if total > limit {
			t.Fatalf("after %d updates the only object of an owner takes %d bytes, want at most %d", i, total, limit)
		}
	}
}

func TestRandomObjectsRoundTrip(t *testing.T) {
	random.Check(t, modelRounds, func(t *random.T) {
		p := New()
		states := make(map[int]Object)
		raws := make(map[int][]byte)
		for range t.Range("objects", 1, 40) {
			t.Step("object")
			key := t.Range("key", 0, 8)
			raw := edited(t, raws[t.Range("like", 0, 8)])
			owner := fmt.Sprint(t.Range("owner", 0, 2))[:t.Range("has owner", 0, 1)]
			states[key] = packChecked(t, p, raw, owner, states[key])
			raws[key] = raw
		}
		for key, o := range states {
			wantUnpacked(t, o, raws[key])
		}
	})
}

// edited returns a copy of like with parts changed, removed, inserted and repeated.
func edited(t *random.T, like []byte) []byte {
	raw := bytes.Clone(like)
	for range t.Range("edits", 0, 6) {
		from := t.Range("from", 0, len(raw))
		to := min(len(raw), from+t.Range("length", 0, 40))
		if t.Range("truncate", 0, 9) == 0 {
			to = len(raw)
		}
		raw = append(raw[:from:from], append(piece(t), raw[to:]...)...)
	}
	return raw
}

// piece returns bytes, digits, what repeats itself, or a Pod.
func piece(t *random.T) []byte {
	from := func(alphabet string, n int) (text []byte) {
		for range n {
			text = append(text, alphabet[t.UpTo(uint64(len(alphabet)-1))])
		}
		t.Note("piece", string(text))
		return text
	}
	const digits = "0123456789abcdef"
	switch random.From(t, "kind", "bytes", "digits", "repetitive", "Pod") {
	case "bytes":
		raw := make([]byte, t.Length("length", 5, 60))
		for i := range raw {
			raw[i] = byte(t.UpTo(255))
		}
		t.Note("piece", string(raw))
		return raw
	case "digits":
		switch random.From(t, "digits", "any length", "a UID", "an address") {
		case "any length":
			return from(digits, t.Length("length", 5, 70))
		case "a UID":
			return from(digits+"-", 36)
		}
		return fmt.Appendf(nil, "10.%s.1", from(digits[:10], t.Range("length", 1, 3)))
	case "repetitive":
		return bytes.Repeat([]byte("ab"), t.Range("times", 0, 3000))
	}
	pod := t.Range("Pod", 0, 50)
	return podLike(pod, pod)
}

// TestSequencesRoundTrip holds sequences of objects that random testing found to break a packer
// that lacks one check or one reset of a workspace.
func TestSequencesRoundTrip(t *testing.T) {
	type step struct {
		key, owner string
		raw        []byte
	}
	repetitive := func(n int) []byte { return bytes.Repeat([]byte("ab"), n) }
	for name, steps := range map[string][]step{
		"too repetitive for the decoder's limit": {
			{"a", "", repetitive(1025)},
		},
		"repetitive, without and with a dictionary": {
			{"a", "", podLike(0, 0)},
			{"a", "", repetitive(3000)},
			{"a", "", repetitive(3000)},
		},
		"searched in a long base, then in a short one": {
			{"a", "x", podLike(0, 0)},
			{"b", "y", bytes.Repeat([]byte("-"), 36)},
			{"a", "y", podLike(1, 1)},
		},
		"same literals as the object before": {
			{"a", "x", podLike(0, 0)},
			{"b", "x", podLike(0, 1)},
			{"c", "x", podLike(0, 1)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := New()
			last := make(map[string]Object)
			for _, s := range steps {
				last[s.key] = packChecked(t, p, s.raw, s.owner, last[s.key])
			}
		})
	}
}

func TestExtremes(t *testing.T) {
	random := make([]byte, 200_000)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(random)
	for name, raw := range map[string][]byte{
		"empty": {}, "one byte": {0}, "seven bytes": []byte("1234567"),
		"zeros": make([]byte, 1<<20), "random": random, "random twice": append(random[:100_000:100_000], random[:100_000]...),
		"digits": []byte(strings.Repeat("0123456789abcdef", 20_000)), "large Pod": bytes.Repeat(podLike(3, 3), 300),
	} {
		t.Run(name, func(t *testing.T) {
			p := New()
			first := packChecked(t, p, raw, "", Object{})
			base := packChecked(t, p, raw, "owner", Object{})
			packChecked(t, p, raw, "owner", Object{})
			packChecked(t, p, raw, "", first)
			for i := range 100 {
				packChecked(t, p, podLike(i, 0), "", Object{})
			}
			o := packChecked(t, p, append(bytes.Clone(raw), 'x'), "owner", base)
			packChecked(t, p, raw, "", o)
			if o := p.Pack(raw, "", Object{}, Excerpt{}); o.Size() > len(raw)+len(raw)/64+16 {
				t.Errorf("%d bytes pack to %d", len(raw), o.Size())
			}
		})
	}
}

// TestRepeatedBaseIsNotPackedAsDelta packs an object whose delta would be smaller than the decoder
// accepts for its length.
func TestRepeatedBaseIsNotPackedAsDelta(t *testing.T) {
	p := New()
	pod := bytes.Repeat(podLike(3, 3), 2)
	base := packChecked(t, p, pod, "owner", Object{})
	packChecked(t, p, pod, "owner", Object{})
	packChecked(t, p, bytes.Repeat(pod, 300), "owner", base)
}

func TestZeroObject(t *testing.T) {
	var zero Object
	if _, err := zero.Unpack(nil); err == nil || !zero.IsZero() || zero.Size() != 0 {
		t.Errorf("the zero object was unpacked, error %v", err)
	}
	if New().Pack(nil, "", zero, Excerpt{}).IsZero() {
		t.Error("an empty object packs to the zero Object")
	}
}
