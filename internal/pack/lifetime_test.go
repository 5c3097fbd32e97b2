package pack

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"weak"
)

func heap() uint64 {
	for range 3 {
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// TestNewOwnersForEver rolls deployments out: the owners of as many objects as ever
// are always new ones.
func TestNewOwnersForEver(t *testing.T) {
	const live, replicas, rounds = 400, 4, 30
	p := New()
	objects := make([]Object, live)
	var first, table uint64
	for round := range rounds {
		for i := range objects {
			workload := (round*live + i) / replicas
			old := objects[i]
			if i%3 == 0 {
				old = Object{} // deleted, and another one made
			}
			objects[i] = p.Pack(podLike(workload%500, round*live+i), fmt.Sprint("owner ", workload), old)
		}
		if round == rounds/10 {
			first, table = heap(), uint64(p.owners.len())
		}
	}
	if now := heap(); now > first+first/10 {
		t.Errorf("heap of %d bytes after a tenth, %d at the end", first, now)
	}
	// Each shard is swept when it is twice as large as it was left.
	if now := uint64(p.owners.len()); now > max(2*table, shards*minSweep) {
		t.Errorf("%d owners after a tenth, %d at the end, of %d", table, now, live/replicas)
	}
	runtime.KeepAlive(objects)
}

func TestABaseIsGarbageOnceNobodyNeedsIt(t *testing.T) {
	p := New()
	base := p.Pack(podLike(1, 0), "owner", Object{})
	sibling := p.Pack(podLike(1, 1), "owner", Object{})
	watched := weak.Make(base.from)
	base = Object{}
	heap()
	if watched.Value() == nil {
		t.Fatal("a base that a sibling needs is gone")
	}
	wantUnpacked(t, sibling, podLike(1, 1))
	sibling = Object{}
	for range 4 { // a workspace remembers it until pools are cleared
		heap()
	}
	if watched.Value() != nil {
		t.Error("a base is kept that nobody needs")
	}
	runtime.KeepAlive([]Object{base, sibling})
	if o := p.Pack(podLike(1, 2), "owner", Object{}); !o.isBase() {
		t.Error("an owner whose objects are gone has a base")
	}
}

func TestAnOldDictionaryIsGarbageOnceNobodyNeedsIt(t *testing.T) {
	p := New()
	i := 0
	for ; p.training.current.Load() == nil; i++ {
		p.Pack(podLike(i, 0), "", Object{})
	}
	raw := podLike(i, 1)
	o := p.Pack(raw, "", Object{})
	watched := weak.Make(p.training.current.Load())
	for ; !p.training.done.Load(); i++ {
		p.Pack(podLike(i, 0), "", Object{})
	}
	heap()
	wantUnpacked(t, o, raw)
	o = Object{}
	heap()
	if watched.Value() != nil {
		t.Error("a dictionary is kept that nobody needs")
	}
	runtime.KeepAlive(o)
}

// TestManyAtOnce packs, updates and unpacks objects of the same owners in many
// goroutines, each of which has to find its own as they were.
func TestManyAtOnce(t *testing.T) {
	p := New()
	var running sync.WaitGroup
	for worker := range 8 {
		running.Go(func() {
			objects := make([]Object, 60)
			for round := range 6 {
				for i := range objects {
					objects[i] = p.Pack(podLike(i/5, worker*1000+round*100+i), fmt.Sprint("owner ", i/5), objects[i])
				}
				for i, o := range objects {
					wantUnpacked(t, o, podLike(i/5, worker*1000+round*100+i))
				}
			}
		})
	}
	running.Wait()
}
