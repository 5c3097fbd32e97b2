// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package snapmap

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// named is a value with its own key.
type named struct {
	key   string
	round int
}

// readDuring calls read repeatedly in several goroutines until write returns.
func readDuring(write func(), read func(rnd *rand.Rand)) {
	var stop atomic.Bool
	var readers sync.WaitGroup
	for i := range 4 {
		readers.Go(func() {
			for rnd := rand.New(rand.NewPCG(1, uint64(i))); !stop.Load(); {
				read(rnd)
			}
		})
	}
	write()
	stop.Store(true)
	readers.Wait()
}

// TestGetDuringWrites reads keys of a few pages that are set and deleted all the time, with and
// without snapshots. A reader must never get another key's value or miss a key that is not deleted;
// the race detector reports torn keys.
func TestGetDuringWrites(t *testing.T) {
	for _, snapshotEach := range []int{0, 1, 50} {
		t.Run(fmt.Sprintf("snapshotEach=%d", snapshotEach), func(t *testing.T) {
			g := new(Generation)
			m := NewMap[named, struct{}](g)
			const stay, change = 40, 200
			key := func(i int) string { return "key-of-some-length-" + strconv.Itoa(i) }
			for i := range stay {
				m.Set(key(i), &named{key: key(i)})
			}
			write := func() {
				rnd := rand.New(rand.NewPCG(2, 2))
				for round := range concurrentRounds {
					i := rnd.IntN(stay + change)
					k := key(i)
					if i >= stay && rnd.IntN(2) == 0 {
						m.Delete(k)
					} else {
						m.Set(k, &named{k, round})
					}
					if snapshotEach > 0 && round%snapshotEach == 0 {
						m.View()
						g.Advance()
					}
				}
			}
			readDuring(write, func(rnd *rand.Rand) {
				i := rnd.IntN(stay + change)
				k := key(i)
				switch v := m.Get(k); {
				case v == nil && i < stay:
					t.Errorf("key %q was never deleted and is not found", k)
				case v != nil && v.key != k:
					t.Errorf("key %q has the value of %q", k, v.key)
				}
				if m.Len() < stay {
					t.Errorf("Len() = %d, want at least %d", m.Len(), stay)
				}
			})
			m.t.validate(t)
		})
	}
}

// TestGetIsMonotonic checks that a reader never gets an older value of a key than before, while
// pages are split, rewritten and rebuilt.
func TestGetIsMonotonic(t *testing.T) {
	g := new(Generation)
	m := NewMap[named, struct{}](g)
	const keys = 8
	write := func() {
		for round := range concurrentRounds / 100 {
			for i := range 100 {
				m.Set(strconv.Itoa(i%keys), &named{round: round*100 + i})
				m.Set("filler"+strconv.Itoa(i), new(named))
			}
			for i := range 100 {
				m.Delete("filler" + strconv.Itoa(i))
			}
			if round%3 == 0 {
				m.View()
				g.Advance()
			}
		}
	}
	var seen sync.Map // from a reader's generator to the last round it saw of each key
	readDuring(write, func(rnd *rand.Rand) {
		last, _ := seen.LoadOrStore(rnd, new([keys]int))
		i := rnd.IntN(keys)
		if v := m.Get(strconv.Itoa(i)); v != nil {
			if v.round < last.(*[keys]int)[i] {
				t.Errorf("key %d: got round %d after round %d", i, v.round, last.(*[keys]int)[i])
			}
			last.(*[keys]int)[i] = v.round
		}
	})
}

// TestViewsAreConsistentDuringWrites ranges over views. The writer replaces all keys of a round by
// those of the next between two views, so each view must show a single round.
func TestViewsAreConsistentDuringWrites(t *testing.T) {
	g := new(Generation)
	m := NewMap[named, struct{}](g)
	const keys = 300
	var current atomic.Pointer[View[named, struct{}]]
	publish := func() {
		v := m.View()
		g.Advance()
		current.Store(&v)
	}
	publish()
	write := func() {
		for round := range viewRounds {
			for i := range keys {
				m.Delete(fmt.Sprint(round-1, "-", i))
				m.Set(fmt.Sprint(round, "-", i), &named{round: round})
			}
			publish()
		}
	}
	readDuring(write, func(*rand.Rand) {
		v := *current.Load()
		n, round := 0, -1
		for k, item := range v.All() {
			x := item.Value
			if round >= 0 && x.round != round || v.Get(k) != x {
				t.Errorf("the view of round %d has key %q of round %d", round, k, x.round)
			}
			n, round = n+1, x.round
		}
		if n != v.Len() || n != 0 && n != keys {
			t.Errorf("All yields %d entries, Len() = %d, want 0 or %d", n, v.Len(), keys)
		}
	})
}

// TestFrozenSetsDuringWrites reads frozen sets while the writer derives new ones from them.
func TestFrozenSetsDuringWrites(t *testing.T) {
	g := new(Generation)
	m := NewMap[Set, struct{}](g)
	var current atomic.Pointer[View[Set, struct{}]]
	publish := func() {
		v := m.View()
		g.Advance()
		current.Store(&v)
	}
	publish()
	write := func() {
		rnd := rand.New(rand.NewPCG(3, 3))
		for round := range concurrentRounds {
			value := []string{"small", "big"}[round%2]
			s := m.Get(value)
			if s == nil {
				s = NewSet(g)
			}
			if k := strconv.Itoa(rnd.IntN([]int{10, 500}[round%2])); rnd.IntN(2) == 0 && !s.Has(k) {
				s = s.Add(g, k)
			} else {
				s = s.Remove(g, k)
			}
			m.Set(value, s)
			if round%7 == 0 {
				publish()
			}
		}
	}
	readDuring(write, func(*rand.Rand) {
		for value, item := range current.Load().All() {
			s, n := item.Value, 0
			for k := range s.All() {
				n++
				if !s.Has(k) {
					t.Errorf("set %q yields %q, but Has reports false", value, k)
				}
			}
			if n != s.Len() {
				t.Errorf("set %q yields %d keys, Len() = %d", value, n, s.Len())
			}
		}
	})
}
