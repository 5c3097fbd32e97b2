// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// lookup interns b as the first value of a field, so that it always looks b up in the table.
func lookup(s *Strings, b []byte) string { return s.Intern(b, &FieldCache{}) }

// sameMemory reports whether two strings share memory.
func sameMemory(a, b string) bool { return unsafe.StringData(a) == unsafe.StringData(b) }

func TestEqualStringsShareMemory(t *testing.T) {
	s := NewStrings(Large)
	for _, text := range []string{"a", "kubernetes.io/hostname", strings.Repeat("x", maxShort), strings.Repeat("x", maxShort+1), strings.Repeat("x", maxLong)} {
		a, b := lookup(s, []byte(text)), lookup(s, []byte(text))
		if a != text || !sameMemory(a, b) {
			t.Errorf("interning %.20q returned %.20q and %.20q, in the same memory: %v", text, a, b, sameMemory(a, b))
		}
	}
	tooLong := bytes.Repeat([]byte("x"), maxLong+1)
	if a, b := lookup(s, tooLong), lookup(s, tooLong); a != b || sameMemory(a, b) {
		t.Error("a string above the maximum length is shared")
	}
	if got := lookup(s, nil); got != "" {
		t.Errorf("interning no bytes returned %q", got)
	}
}

func TestInputIsNotRetained(t *testing.T) {
	raw := []byte("before")
	s, b, v := lookup(NewStrings(Large), raw), NewBytes(Large).Intern(raw, &HitEstimator{}), NewValues[int](Large)
	v.Put(1, raw, 5)
	copy(raw, "after!")
	if s != "before" || string(b) != "before" {
		t.Errorf("string %q and bytes %q have changed with the input", s, b)
	}
	if n, ok := v.Get(1, []byte("before")); !ok || n != 5 {
		t.Error("a value is not found after its key's bytes have changed")
	}
}

func TestInternedBytesHaveNoSpareCapacity(t *testing.T) {
	table := NewBytes(Large)
	a := table.Intern([]byte("abc"), &HitEstimator{})
	b := table.Intern([]byte("abc"), &HitEstimator{})
	if &a[0] != &b[0] {
		t.Error("equal slices do not share memory")
	}
	if _ = append(a, 'x'); cap(a) != len(a) {
		t.Error("append to an interned slice writes into shared memory")
	}
	if empty := table.Intern(nil, &HitEstimator{}); empty == nil || len(empty) != 0 {
		t.Errorf("interning no bytes returned %v, want an empty non-nil slice", empty)
	}
}

func TestValuesAreKeyedByKind(t *testing.T) {
	v := NewValues[string](Large)
	key := []byte("key")
	v.Put(1, key, "one")
	if _, ok := v.Get(2, key); ok {
		t.Error("Get found a value of another kind")
	}
	v.Put(2, key, "two")
	if got := v.Put(1, key, "late"); got != "one" {
		t.Errorf("Put returned %q, want the value stored first", got)
	}
	if got, ok := v.Get(2, key); !ok || got != "two" {
		t.Errorf("Get returned %q, %v", got, ok)
	}
	long := make([]byte, maxKey+1)
	if got := v.Put(1, long, "long"); got != "long" {
		t.Errorf("Put returned %q", got)
	}
	if _, ok := v.Get(1, long); ok {
		t.Error("a value with a key above the maximum length is stored")
	}
}

func TestHitEstimatorSkipsValuesThatDoNotRecur(t *testing.T) {
	var h HitEstimator
	tries := func(hits bool) (n int) {
		for range 10_000 {
			if !h.Try() {
				continue
			}
			n++
			if hits {
				h.Hit()
			} else {
				h.Miss()
			}
		}
		return n
	}
	if n := tries(true); n != 10_000 {
		t.Errorf("%d of 10,000 values that recur were looked up", n)
	}
	if n := tries(false); n > 10_000/probeInterval+200 {
		t.Errorf("%d of 10,000 values that do not recur were looked up", n)
	}
	if n := tries(true); n < 9_000 {
		t.Errorf("%d of 10,000 values that recur again were looked up", n)
	}
}

// TestFieldCacheKeepsTheLastString has strings with the same slot, of which each recurs in turn, as
// those of workloads whose objects are listed one after the other.
func TestFieldCacheKeepsTheLastString(t *testing.T) {
	s, field := NewStrings(Small), &FieldCache{}
	for _, text := range []string{"web-1-x", "web-2-x", "web-3-x"} {
		for range 2 {
			s.Intern([]byte(text), field)
		}
		if cached := field.slot([]byte("web-1-x")).Load(); cached == nil || cached.key != text {
			t.Errorf("%s has recurred, and the slot has %+v", text, cached)
		}
	}
}

// TestFieldCacheReturnsTheTablesStrings checks that a FieldCache returns the same memory as the
// table.
func TestFieldCacheReturnsTheTablesStrings(t *testing.T) {
	s, field := NewStrings(Large), &FieldCache{}
	for _, text := range []string{"True", "False", "Unknown", "True", "", strings.Repeat("x", maxLong+1)} {
		first := lookup(s, []byte(text))
		for range 3 {
			if got := s.Intern([]byte(text), field); got != text || len(text) <= maxLong && !sameMemory(got, first) {
				t.Errorf("interning %.20q returned %.20q", text, got)
			}
		}
	}
	for i := range 1000 { // none of them recurs
		if text := fmt.Sprint("only-", i); s.Intern([]byte(text), field) != text {
			t.Errorf("interning %q returned another string", text)
		}
	}
	if first, second := field.Hits.Try(), field.Hits.Try(); first && second {
		t.Error("the values of the field are still looked up")
	}
	if got := s.Intern([]byte("True"), field); !sameMemory(got, lookup(s, []byte("True"))) {
		t.Error("a cached string is lost when the other values of the field do not recur")
	}
}

func TestJSONStringsShareMemory(t *testing.T) {
	j := NewJSONStrings(Large)
	member := j.Member([]byte("kind"))
	if member.Name != "kind" || j.Member([]byte("kind")) != member {
		t.Errorf("equal member names %q do not share memory", member.Name)
	}
	a, b := j.Intern([]byte("Database"), member), j.Intern([]byte("Database"), member)
	if a != any("Database") || !sameMemory(a.(string), b.(string)) {
		t.Errorf("interning returned %v and %v", a, b)
	}
	if got := j.Member(make([]byte, maxName+1)); len(got.Name) != maxName+1 {
		t.Errorf("a long name has %d bytes, want %d", len(got.Name), maxName+1)
	}
	if n := testing.AllocsPerRun(100, func() { j.Intern([]byte("Database"), member) }); n != 0 {
		t.Errorf("interning a known string allocates %v times", n)
	}
}

// TestJSONStringsAreBounded interns values and member names that never recur.
func TestJSONStringsAreBounded(t *testing.T) {
	j := NewJSONStrings(Large)
	for i := range jsonDocuments {
		j.Intern([]byte("Database"), j.Member([]byte("kind")))
		j.Intern(fmt.Append(nil, i), j.Member([]byte("uid")))
		j.Intern(fmt.Appendf(nil, "value-%d", i), j.Member(fmt.Appendf(nil, "key-%d", i)))
	}
	if got := j.usage(); got.entries > 8000 {
		t.Errorf("usage is %+v after %d distinct values and names", got, 3*jsonDocuments)
	}
}

func BenchmarkStrings(b *testing.B) {
	s := NewStrings(Large)
	raws := make([][]byte, 256)
	for i := range raws {
		raws[i] = fmt.Appendf(nil, "kubernetes.io/some-label-%d", i)
		lookup(s, raws[i])
		lookup(s, raws[i])
	}
	b.Run("hit", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			runtime.KeepAlive(lookup(s, raws[i%len(raws)]))
			i++
		}
	})
	b.Run("miss", func(b *testing.B) {
		b.ReportAllocs()
		i, raw := 0, []byte("0123456789abcdef")
		for b.Loop() {
			i++
			for d, n := 0, i; n > 0; d, n = d+1, n/10 {
				raw[d] = '0' + byte(n%10)
			}
			runtime.KeepAlive(lookup(s, raw))
		}
	})
}
