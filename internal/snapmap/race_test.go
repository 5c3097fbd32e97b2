package snapmap

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// named is a value that says which key it belongs to.
type named struct {
	key   string
	round int
}

// readBeside runs read in some goroutines, again and again, until write returns.
func readBeside(write func(), read func(rnd *rand.Rand)) {
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

// TestGetBesideWriter has readers look for keys that come and go without end, in
// few pages, with and without snapshots: they must never see another key's value,
// a torn key (which the race detector reports), or lose a key that stays.
func TestGetBesideWriter(t *testing.T) {
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
				for round := range 20_000 {
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
			readBeside(write, func(rnd *rand.Rand) {
				i := rnd.IntN(stay + change)
				k := key(i)
				switch v := m.Get(k); {
				case v == nil && i < stay:
					t.Errorf("key %q stays and is not found", k)
				case v != nil && v.key != k:
					t.Errorf("key %q: the value of %q", k, v.key)
				}
				if m.Len() < stay {
					t.Error("Len", m.Len())
				}
			})
			m.t.validate(t)
		})
	}
}

// TestReadersNeverGoBack: who has seen a value of a key sees no earlier one later,
// also where pages are split, rewritten and rebuilt meanwhile.
func TestReadersNeverGoBack(t *testing.T) {
	g := new(Generation)
	m := NewMap[named, struct{}](g)
	const keys = 8
	write := func() {
		for round := range 100 {
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
	var seen sync.Map // per reader's generator, what it saw last of each key
	readBeside(write, func(rnd *rand.Rand) {
		last, _ := seen.LoadOrStore(rnd, new([keys]int))
		i := rnd.IntN(keys)
		if v := m.Get(strconv.Itoa(i)); v != nil {
			if v.round < last.(*[keys]int)[i] {
				t.Errorf("key %d: round %d after %d", i, v.round, last.(*[keys]int)[i])
			}
			last.(*[keys]int)[i] = v.round
		}
	})
}

// TestViewsBesideWriter has readers walk views, each of which must show one
// moment: the writer keeps all values at the same round but for one prefix.
func TestViewsBesideWriter(t *testing.T) {
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
		for round := range 100 {
			for i := range keys { // the keys of a round replace those of the round before
				m.Delete(fmt.Sprint(round-1, "-", i))
				m.Set(fmt.Sprint(round, "-", i), &named{round: round})
			}
			publish()
		}
	}
	readBeside(write, func(*rand.Rand) {
		v := *current.Load()
		n, round := 0, -1
		for k, item := range v.All() {
			x := item.Value
			if round >= 0 && x.round != round || v.Get(k) != x {
				t.Errorf("key %q of round %d in the view of round %d", k, x.round, round)
			}
			n, round = n+1, x.round
		}
		if n != v.Len() || n != 0 && n != keys {
			t.Errorf("%d entries, Len %d", n, v.Len())
		}
	})
}

// TestFrozenSetsBesideWriter has readers use sets that the writer goes on from.
func TestFrozenSetsBesideWriter(t *testing.T) {
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
		for round := range 10_000 {
			value := []string{"small", "big"}[round%2]
			s := m.Get(value)
			if s == nil {
				s = NewSet(g)
			}
			if k := strconv.Itoa(rnd.IntN([]int{10, 500}[round%2])); rnd.IntN(2) == 0 {
				s = s.Add(k)
			} else {
				s = s.Remove(k)
			}
			m.Set(value, s)
			if round%7 == 0 {
				publish()
			}
		}
	}
	readBeside(write, func(*rand.Rand) {
		for value, item := range current.Load().All() {
			s, n := item.Value, 0
			for k := range s.All() {
				n++
				if !s.Has(k) {
					t.Errorf("%s: lacks %q, which All yields", value, k)
				}
			}
			if n != s.Len() {
				t.Errorf("%s: %d keys, Len %d", value, n, s.Len())
			}
		}
	})
}
