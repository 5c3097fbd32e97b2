// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// TestDistinctValuesDoNotGrowTables interns millions of strings that never recur, as an informer
// sees in a year, besides a few that do.
func TestDistinctValuesDoNotGrowTables(t *testing.T) {
	s, v, b := NewStrings(Large), NewValues[int](Large), NewBytes(Large)
	tables := func() usage { return s.usage().plus(v.table.usage()).plus(b.table.usage()) }
	recurring := make([]string, 100)
	for i := range recurring {
		for range 2 {
			recurring[i] = lookup(s, fmt.Appendf(nil, "recurring-%d", i))
		}
	}
	var first usage
	lost, buffer := 0, []byte("pod-00000000-of-a-deployment")
	for i := range distinctStrings {
		writeNumber(buffer[4:12], i)
		lookup(s, buffer)
		if i%distinctPerValue == 0 {
			v.Put(0, buffer, i)
			b.Intern(buffer, &HitEstimator{})
		}
		if r := &recurring[i/100%len(recurring)]; i%100 == 0 && !sameMemory(*r, lookup(s, []byte(*r))) {
			lost++
			*r = lookup(s, []byte(*r))
		}
		if i == distinctStrings/2 {
			first = tables()
		}
	}
	last := tables()
	t.Logf("%+v", last)
	if last.slots != first.slots || last.entries > first.entries+first.entries/10 || last.bytes > first.bytes+first.bytes/10 {
		t.Errorf("tables have grown from %+v, after half of the strings, to %+v", first, last)
	}
	if lost > 20 || last.slots > 4*smallSets*ways {
		t.Errorf("strings in use were evicted %d times by strings that never recur; tables are %+v", lost, last)
	}
}

// TestValuesSeenTwiceDoNotGrowFullTable interns strings that each occur twice and never again, such
// as the IP addresses of Pods. They may fill the table up to its limits.
func TestValuesSeenTwiceDoNotGrowFullTable(t *testing.T) {
	s := NewStrings(twinTables)
	var first usage
	buffer := []byte("pod-00000000-of-a-deployment")
	for i := range twinStrings {
		writeNumber(buffer[4:12], i)
		if x, y := lookup(s, buffer), lookup(s, buffer); !sameMemory(x, y) {
			t.Fatalf("equal strings %q do not share memory", x)
		}
		if i == twinStrings/2 {
			first = s.usage()
		}
	}
	if last := s.usage(); last.slots != first.slots || last.entries > first.slots || last.bytes > first.bytes+first.bytes/10 {
		t.Errorf("table has grown from %+v, after half of the strings, to %+v", first, last)
	}
	checkTable(t, s.short)
}

// writeNumber writes n into b in decimal.
func writeNumber(b []byte, n int) {
	for d := len(b) - 1; d >= 0; d-- {
		b[d] = '0' + byte(n%10)
		n /= 10
	}
}

// TestTablesStayWithinLimits interns keys that recur again and again, more of them than fit.
func TestTablesStayWithinLimits(t *testing.T) {
	l := limits{maxSets: 128, setBytes: 1000}
	table := newTable[struct{}](l)
	random := rand.New(rand.NewPCG(1, 2))
	for range limitRounds {
		key := fmt.Appendf(nil, "%d%s", random.IntN(5000), strings.Repeat("x", random.IntN(900)))
		for range 2 {
			tag := table.tag(key)
			if table.find(tag, key) == nil {
				table.insert(tag, &entry[struct{}]{key: string(key)})
			}
		}
	}
	checkTable(t, table)
	if got := table.usage(); got.slots != l.maxSets*ways || got.entries == 0 {
		t.Errorf("usage is %+v, want %d slots and some entries", got, l.maxSets*ways)
	}
}

func TestGrowthKeepsEntries(t *testing.T) {
	s := NewStrings(Large)
	kept := make(map[string]string)
	lost := 0
	for round := range 6 {
		for i := range 3000 {
			text := fmt.Sprintf("string-%d", i)
			now := lookup(s, []byte(text))
			if before := kept[text]; round == 5 && !sameMemory(before, now) {
				lost++
			}
			kept[text] = now
		}
	}
	if lost > len(kept)/50 {
		t.Errorf("table lost %d of %d strings that fit: %+v", lost, len(kept), s.usage())
	}
	checkTable(t, s.short)
}

// TestSmallTablesStayWithinLimits also checks that each stripe of a small table has its own set.
func TestSmallTablesStayWithinLimits(t *testing.T) {
	s := NewStrings(Small)
	for i := range smallTableRounds {
		short, long := fmt.Appendf(nil, "string-%d", i), fmt.Appendf(nil, "%0200d", i)
		for range 3 { // so that the strings recur
			lookup(s, short)
			lookup(s, long)
		}
	}
	if got, most := s.usage(), 16384*ways/int(Small)+512*ways/int(Small); got.entries > most || got.entries < most/8 {
		t.Errorf("usage is %+v, want at most %d entries and at least an eighth of that", got, most)
	}
	if sets := len(s.long.current.Load().sets); sets < stripes {
		t.Errorf("table has %d sets for %d stripes", sets, stripes)
	}
	checkTable(t, s.short)
}

func TestConcurrentUse(t *testing.T) {
	s, v, b := NewStrings(Large), NewValues[string](Large), NewBytes(Large)
	var hits HitEstimator
	var field FieldCache
	var running sync.WaitGroup
	for g := range 8 {
		running.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 1))
			for range concurrentRounds {
				text := fmt.Sprintf("text-%d", random.IntN(4000))
				raw := []byte(text)
				if lookup(s, raw) != text || s.Intern(raw, &field) != text || string(b.Intern(raw, &hits)) != text {
					t.Errorf("interning %q returned another string", text)
				}
				if got := v.Put(7, raw, text); got != text {
					t.Errorf("Put(%q) = %q", text, got)
				}
				if got, ok := v.Get(7, raw); ok && got != text {
					t.Errorf("Get(%q) = %q", text, got)
				}
			}
		})
	}
	running.Wait()
	checkTable(t, s.short)
	checkTable(t, v.table)
	checkTable(t, b.table)
}
