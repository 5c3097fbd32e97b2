package intern

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// same tells whether two strings are one in memory.
func same(a, b string) bool { return unsafe.StringData(a) == unsafe.StringData(b) }

func TestEqualStringsAreOne(t *testing.T) {
	s := NewStrings(Large)
	for _, text := range []string{"a", "kubernetes.io/hostname", strings.Repeat("x", maxShort), strings.Repeat("x", maxShort+1), strings.Repeat("x", maxLong)} {
		a, b := s.Of([]byte(text)), s.Of([]byte(text))
		if a != text || !same(a, b) {
			t.Errorf("%.20q: got %.20q and %.20q, the same in memory: %v", text, a, b, same(a, b))
		}
	}
	tooLong := bytes.Repeat([]byte("x"), maxLong+1)
	if a, b := s.Of(tooLong), s.Of(tooLong); a != b || same(a, b) {
		t.Error("a string longer than the longest is shared")
	}
	if got := s.Of(nil); got != "" {
		t.Errorf("no bytes make %q", got)
	}
}

func TestNothingOfTheBytesIsKept(t *testing.T) {
	raw := []byte("before")
	s, b, v := NewStrings(Large).Of(raw), NewBytes(Large).Intern(raw, &HitEstimator{}), NewValues[int](Large)
	v.Put(1, raw, 5)
	copy(raw, "after!")
	if s != "before" || string(b) != "before" {
		t.Errorf("%q and %q have changed with the bytes that they were made of", s, b)
	}
	if n, ok := v.Get(1, []byte("before")); !ok || n != 5 {
		t.Error("a value is gone since the bytes of its key have changed")
	}
}

func TestBytesLeaveNoRoom(t *testing.T) {
	table := NewBytes(Large)
	a := table.Intern([]byte("abc"), &HitEstimator{})
	b := table.Intern([]byte("abc"), &HitEstimator{})
	if &a[0] != &b[0] {
		t.Error("equal bytes are in memory twice")
	}
	if _ = append(a, 'x'); cap(a) != len(a) {
		t.Error("append to one slice writes behind the other")
	}
	if empty := table.Intern(nil, &HitEstimator{}); empty == nil || len(empty) != 0 {
		t.Errorf("no bytes make %v, want a slice that is empty and not nil", empty)
	}
}

func TestValuesOfOneKind(t *testing.T) {
	v := NewValues[string](Large)
	key := []byte("key")
	v.Put(1, key, "one")
	if _, ok := v.Get(2, key); ok {
		t.Error("a value of one kind is found as another")
	}
	v.Put(2, key, "two")
	if got := v.Put(1, key, "late"); got != "one" {
		t.Errorf("Put returned %q, want what was there first", got)
	}
	if got, ok := v.Get(2, key); !ok || got != "two" {
		t.Errorf("got %q, %v", got, ok)
	}
	long := make([]byte, maxValue+1)
	if got := v.Put(1, long, "long"); got != "long" {
		t.Errorf("Put returned %q", got)
	}
	if _, ok := v.Get(1, long); ok {
		t.Error("a value with too long a key is kept")
	}
}

// TestDistinctValuesForEver is what an informer sees in a year: 10 million strings of
// which none comes twice, and beside them some that do.
func TestDistinctValuesForEver(t *testing.T) {
	distinct := 10_000_000
	if underRace {
		distinct /= 5 // it takes ten times as long
	}
	s, v, b := NewStrings(Large), NewValues[int](Large), NewBytes(Large)
	size := func() Size { return s.Size().plus(v.Size()).plus(b.Size()) }
	usefulEvicted := make([]string, 100)
	for i := range usefulEvicted {
		for range 2 {
			usefulEvicted[i] = s.Of(fmt.Appendf(nil, "useful-%d", i))
		}
	}
	var first Size
	lost, buffer := 0, []byte("pod-00000000-of-a-deployment")
	for i := range distinct {
		number(buffer[4:12], i)
		if s.Of(buffer); i%100 == 0 {
			v.Put(0, buffer, i)
			b.Intern(buffer, &HitEstimator{})
		}
		if u := &usefulEvicted[i/100%len(usefulEvicted)]; i%100 == 0 && !same(*u, s.Of([]byte(*u))) {
			lost++
			*u = s.Of([]byte(*u))
		}
		if i == distinct/2 {
			first = size()
		}
	}
	last := size()
	t.Logf("%+v", last)
	if last.Places != first.Places || last.Entries > first.Entries+first.Entries/10 || last.Bytes > first.Bytes+first.Bytes/10 {
		t.Errorf("after a half: %+v; at the end: %+v", first, last)
	}
	if lost > 20 || last.Places > 4*smallSets*ways {
		t.Errorf("%d times a string that is in use was pushed out by ones that never come twice; %+v", lost, last)
	}
}

// TestDistinctTwins is the same with strings of which each comes twice and never
// again, such as the IP of a Pod: they may fill the table, and no more.
func TestDistinctTwins(t *testing.T) {
	s := NewStrings(Large)
	var first Size
	buffer := []byte("pod-00000000-of-a-deployment")
	for i := range 500_000 {
		number(buffer[4:12], i)
		if a, b := s.Of(buffer), s.Of(buffer); !same(a, b) {
			t.Fatalf("%q is in memory twice", a)
		}
		if i == 250_000 {
			first = s.Size()
		}
	}
	if last := s.Size(); last.Places != first.Places || last.Entries > first.Places || last.Bytes > first.Bytes+first.Bytes/10 {
		t.Errorf("after a half: %+v; at the end: %+v", first, last)
	}
	checkTable(t, s.short)
}

// number writes n into b in decimal.
func number(b []byte, n int) {
	for d := len(b) - 1; d >= 0; d-- {
		b[d] = '0' + byte(n%10)
		n /= 10
	}
}

// TestLimits holds that no table grows over its limits when all that it has seen
// comes again and again, and that no set has more bytes than it may.
func TestLimits(t *testing.T) {
	l := limits{maxSets: 128, setBytes: 1000}
	table := newTable[struct{}](l)
	random := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		key := fmt.Appendf(nil, "%d%s", random.IntN(5000), strings.Repeat("x", random.IntN(900)))
		for range 2 {
			tag := table.tag(key)
			if table.find(tag, key) == nil {
				table.insert(tag, &entry[struct{}]{key: string(key)})
			}
		}
	}
	checkTable(t, table)
	if size := table.size(); size.Places != l.maxSets*ways || size.Entries == 0 {
		t.Errorf("%+v, want %d places", size, l.maxSets*ways)
	}
}

// checkTable checks a table's invariants.
func checkTable[V any](t *testing.T, table *table[V]) {
	t.Helper()
	g := table.current.Load()
	sets := g.sets
	if len(sets) > table.limits.maxSets {
		t.Errorf("%d sets, the limit is %d", len(sets), table.limits.maxSets)
	}
	for i := range sets {
		if n := sets[i].keyBytes(); table.limits.setBytes != unlimited && n > table.limits.setBytes {
			t.Errorf("set %d has %d bytes, the limit is %d", i, n, table.limits.setBytes)
		}
		sets[i].each(func(tag uint32, e *entry[V]) {
			if g.set(tag) != &sets[i] {
				t.Errorf("%q is in the wrong set", e.key)
			}
		})
	}
}

func TestGrowthKeepsEntries(t *testing.T) {
	s := NewStrings(Large)
	kept := make(map[string]string)
	lost := 0
	for round := range 6 {
		for i := range 3000 {
			text := fmt.Sprintf("string-%d", i)
			now := s.Of([]byte(text))
			if before := kept[text]; round == 5 && !same(before, now) {
				lost++
			}
			kept[text] = now
		}
	}
	if lost > len(kept)/50 {
		t.Errorf("%d of %d strings are gone from a table that has room for them: %+v", lost, len(kept), s.Size())
	}
	checkTable(t, s.short)
}

// Scarce tables hold a sixteenth, and each stripe of one still has a set of its own.
func TestScarceTables(t *testing.T) {
	s := NewStrings(Small)
	for i := range 100_000 {
		short, long := fmt.Appendf(nil, "string-%d", i), fmt.Appendf(nil, "%0200d", i)
		for range 3 { // it is worth being kept
			s.Of(short)
			s.Of(long)
		}
	}
	if got, most := s.Size(), 16384*ways/int(Small)+512*ways/int(Small); got.Entries > most || got.Entries < most/8 {
		t.Errorf("%+v, want at most %d entries", got, most)
	}
	if sets := len(s.long.current.Load().sets); sets < stripes {
		t.Errorf("%d sets for %d stripes", sets, stripes)
	}
	checkTable(t, s.short)
}

func TestManyAtOnce(t *testing.T) {
	s, v, b := NewStrings(Large), NewValues[string](Large), NewBytes(Large)
	var hits HitEstimator
	var fields FieldCache
	var running sync.WaitGroup
	for g := range 8 {
		running.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 1))
			for range 20_000 {
				text := fmt.Sprintf("text-%d", random.IntN(4000))
				raw := []byte(text)
				if s.Of(raw) != text || s.Intern(raw, &fields) != text || string(b.Intern(raw, &hits)) != text {
					t.Errorf("%s became another string", text)
				}
				if got := v.Put(7, raw, text); got != text {
					t.Errorf("the value of %s is %s", text, got)
				}
				if got, ok := v.Get(7, raw); ok && got != text {
					t.Errorf("the value of %s is %s", text, got)
				}
			}
		})
	}
	running.Wait()
	checkTable(t, s.short)
	checkTable(t, v.table)
	checkTable(t, b.table)
}

func TestWorth(t *testing.T) {
	var w HitEstimator
	tries := func(hits bool) (n int) {
		for range 10_000 {
			if !w.Try() {
				continue
			}
			n++
			if hits {
				w.Hit()
			} else {
				w.Miss()
			}
		}
		return n
	}
	if n := tries(true); n != 10_000 {
		t.Errorf("looked %d times in 10,000 for what is always there", n)
	}
	if n := tries(false); n > 10_000/probeInterval+200 {
		t.Errorf("looked %d times in 10,000 for what is never there", n)
	}
	if n := tries(true); n < 9_000 {
		t.Errorf("looked %d times in 10,000 after things have changed", n)
	}
}

// TestSite holds that a site gives what the table would have given.
func TestSite(t *testing.T) {
	s, fields := NewStrings(Large), &FieldCache{}
	for _, text := range []string{"True", "False", "Unknown", "True", "", strings.Repeat("x", maxLong+1)} {
		first := s.Of([]byte(text))
		for range 3 {
			if got := s.Intern([]byte(text), fields); got != text || len(text) <= maxLong && !same(got, first) {
				t.Errorf("%.20q became %.20q", text, got)
			}
		}
	}
	for i := range 1000 { // of which none comes twice here
		if text := fmt.Sprint("only-", i); s.Intern([]byte(text), fields) != text {
			t.Errorf("%q has become another string", text)
		}
	}
	if first, second := fields.Hits.Try(), fields.Hits.Try(); first && second {
		t.Error("the site is still worth looking for")
	}
	if got := s.Intern([]byte("True"), fields); !same(got, s.Of([]byte("True"))) {
		t.Error("a site whose strings do not come again has forgotten the one that does")
	}
}

func TestTexts(t *testing.T) {
	jsonStrings := NewJSONStrings(Large)
	member := jsonStrings.Member([]byte("kind"))
	if member.Name != "kind" || jsonStrings.Member([]byte("kind")) != member {
		t.Errorf("a name is in memory twice: %q", member.Name)
	}
	a, b := jsonStrings.Intern([]byte("Database"), member), jsonStrings.Intern([]byte("Database"), member)
	if a != any("Database") || !same(a.(string), b.(string)) {
		t.Errorf("got %v and %v", a, b)
	}
	if got := jsonStrings.Member(make([]byte, maxName+1)); len(got.Name) != maxName+1 {
		t.Errorf("a long name has become one of %d bytes", len(got.Name))
	}
	if n := testing.AllocsPerRun(100, func() { jsonStrings.Intern([]byte("Database"), member) }); n != 0 {
		t.Errorf("%v allocations for a string that is there", n)
	}
}

func BenchmarkStrings(b *testing.B) {
	s := NewStrings(Large)
	raws := make([][]byte, 256)
	for i := range raws {
		raws[i] = fmt.Appendf(nil, "kubernetes.io/some-label-%d", i)
		s.Of(raws[i])
		s.Of(raws[i])
	}
	b.Run("there", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			runtime.KeepAlive(s.Of(raws[i%len(raws)]))
			i++
		}
	})
	b.Run("never twice", func(b *testing.B) {
		b.ReportAllocs()
		i, raw := 0, []byte("0123456789abcdef")
		for b.Loop() {
			i++
			for d, n := 0, i; n > 0; d, n = d+1, n/10 {
				raw[d] = '0' + byte(n%10)
			}
			runtime.KeepAlive(s.Of(raw))
		}
	})
}
