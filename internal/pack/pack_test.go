package pack

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// checked packs an object and fails the test if it does not come out again.
func checked(tb rapid.TB, p *Packer, raw []byte, owner string, old Object) Object {
	tb.Helper()
	lent := bytes.Clone(raw)
	o := p.Pack(lent, owner, old)
	for i := range lent {
		lent[i] = 0xee // it was only lent
	}
	wantUnpacked(tb, o, raw)
	return o
}

func wantUnpacked(tb rapid.TB, o Object, raw []byte) {
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

func TestSiblingsTakeAFewBytes(t *testing.T) {
	p, size, raw := New(), 0, 0
	for workload := range 60 {
		for replica := range 20 {
			pod := podLike(workload, replica)
			o := checked(t, p, pod, fmt.Sprint(workload), Object{})
			if replica > 0 {
				size, raw = size+o.Size(), raw+len(pod)
			}
		}
	}
	if size*4 > raw {
		t.Errorf("siblings of %d bytes take %d", raw, size)
	}
}

func TestStrangersTakeFewerBytesOnceThereIsADictionary(t *testing.T) {
	p := New()
	first := checked(t, p, podLike(0, 0), "", Object{}).Size()
	for i := range 200 {
		checked(t, p, podLike(i, 0), "", Object{})
	}
	if now := checked(t, p, podLike(0, 1), "", Object{}).Size(); now*3 > first*2 {
		t.Errorf("a stranger takes %d bytes at first and %d later", first, now)
	}
	if !p.training.done.Load() || p.training.sample != nil {
		t.Error("the training goes on")
	}
}

func TestAnUpdateStaysWithItsBaseWhileThatPays(t *testing.T) {
	p := New()
	base := checked(t, p, podLike(1, 0), "owner", Object{})
	sibling := checked(t, p, podLike(1, 1), "owner", Object{})
	if sibling.from != base.from || !base.from.shared.Load() {
		t.Fatal("the second object is not packed against the first")
	}
	next := checked(t, p, append(podLike(1, 1), "and more"...), "owner", sibling)
	if next.from != base.from {
		t.Error("a small change has left the base")
	}
	unlike := func(replica int) []byte { return bytes.ToUpper(podLike(2, replica)) }
	other := checked(t, p, unlike(0), "owner", next)
	if other.from == base.from || !other.isBase() {
		t.Error("an object unlike its base has not become a base")
	}
	moved := checked(t, p, unlike(1), "owner", next)
	if moved.from != other.from {
		t.Error("an object is not packed against its owner's newest base")
	}
	wantUnpacked(t, sibling, podLike(1, 1))
}

// TestALongerStateBecomesTheBase: Pods come without a status, which they all have
// later. The first that has one is a base for those that follow.
func TestALongerStateBecomesTheBase(t *testing.T) {
	p := New()
	for i := range 100 {
		checked(t, p, podLike(i, 0), "", Object{})
	}
	const workload, replicas = 700, 10
	status := podLike(701, 0)
	var objects [replicas]Object
	for i := range objects {
		objects[i] = checked(t, p, podLike(workload, i), "owner", Object{})
	}
	size := 0
	for i := range objects {
		objects[i] = checked(t, p, append(podLike(workload, i), status...), "owner", objects[i])
		size += objects[i].Size()
	}
	if alone := New().Pack(append(podLike(workload, 0), status...), "", Object{}).Size(); size > replicas*alone/2 {
		t.Errorf("%d siblings that have grown take %d bytes, one alone %d", replicas, size, alone)
	}
	if !objects[0].isBase() || objects[1].from != objects[0].from {
		t.Error("the first that has grown is not the base of the others")
	}
}

// TestABaseOfItsOwn: where there are no siblings, an object does not pay for many
// changes to a base that nobody else needs.
func TestABaseOfItsOwn(t *testing.T) {
	p := New()
	for i := range 100 {
		checked(t, p, podLike(i, 0), "", Object{})
	}
	o := checked(t, p, podLike(500, 0), "owner", Object{})
	limit := o.Size() * 3 / 2
	for i := range 50 {
		o = checked(t, p, podLike(500, i), "owner", o)
		total := o.Size()
		if !o.isBase() {
			total += len(o.from.object.data)
		}
		if total > limit {
			t.Fatalf("after %d changes the only object of an owner takes %d bytes", i, total)
		}
	}
}

func TestAnythingRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := New()
		states := make(map[int]Object)
		raws := make(map[int][]byte)
		for range rapid.IntRange(1, 40).Draw(t, "objects") {
			key := rapid.IntRange(0, 8).Draw(t, "key")
			raw := anything(t, raws[rapid.IntRange(0, 8).Draw(t, "like")])
			states[key] = checked(t, p, raw, fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "owner"))[:rapid.IntRange(0, 1).Draw(t, "has")], states[key])
			raws[key] = raw
		}
		for key, o := range states {
			wantUnpacked(t, o, raws[key])
		}
	})
}

// anything changes, takes out, puts in and repeats parts of bytes, or makes new.
func anything(t *rapid.T, like []byte) []byte {
	raw := bytes.Clone(like)
	piece := rapid.OneOf(
		rapid.SliceOfN(rapid.Byte(), 0, 60),
		rapid.Map(rapid.StringMatching(`[0-9a-f]{0,70}|[0-9a-f-]{36}|10\.[0-9]{1,3}\.1`), func(s string) []byte { return []byte(s) }),
		rapid.Map(rapid.IntRange(0, 3000), func(n int) []byte { return bytes.Repeat([]byte("ab"), n) }),
		rapid.Map(rapid.IntRange(0, 50), func(n int) []byte { return podLike(n, n) }),
	)
	for range rapid.IntRange(0, 6).Draw(t, "edits") {
		from := rapid.IntRange(0, len(raw)).Draw(t, "from")
		to := min(len(raw), from+rapid.IntRange(0, 40).Draw(t, "length"))
		if rapid.IntRange(0, 9).Draw(t, "cut") == 0 {
			to = len(raw)
		}
		raw = append(raw[:from:from], append(piece.Draw(t, "piece"), raw[to:]...)...)
	}
	return raw
}

func TestExtremes(t *testing.T) {
	random := make([]byte, 200_000)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(random)
	for name, raw := range map[string][]byte{
		"nothing": {}, "one byte": {0}, "seven": []byte("1234567"),
		"zeros": make([]byte, 1<<20), "random": random, "random twice": append(random[:100_000:100_000], random[:100_000]...),
		"digits": []byte(strings.Repeat("0123456789abcdef", 20_000)), "a large Pod": bytes.Repeat(podLike(3, 3), 300),
	} {
		t.Run(name, func(t *testing.T) {
			p := New()
			first := checked(t, p, raw, "", Object{})
			base := checked(t, p, raw, "owner", Object{})
			checked(t, p, raw, "owner", Object{})
			checked(t, p, raw, "", first)
			for i := range 100 {
				checked(t, p, podLike(i, 0), "", Object{})
			}
			o := checked(t, p, append(bytes.Clone(raw), 'x'), "owner", base)
			checked(t, p, raw, "", o)
			if o := p.Pack(raw, "", Object{}); o.Size() > len(raw)+len(raw)/64+16 {
				t.Errorf("%d bytes take %d", len(raw), o.Size())
			}
		})
	}
}

// TestABaseManyTimes: what takes less than can be told from corrupt bytes is stored
// otherwise.
func TestABaseManyTimes(t *testing.T) {
	p := New()
	pod := bytes.Repeat(podLike(3, 3), 2)
	base := checked(t, p, pod, "owner", Object{})
	checked(t, p, pod, "owner", Object{})
	checked(t, p, bytes.Repeat(pod, 300), "owner", base)
}

func TestNoObject(t *testing.T) {
	var none Object
	if _, err := none.Unpack(nil); err == nil || !none.IsZero() || none.Size() != 0 {
		t.Errorf("the zero object unpacks: %v", err)
	}
	if New().Pack(nil, "", none).IsZero() {
		t.Error("an object without bytes is none")
	}
}
