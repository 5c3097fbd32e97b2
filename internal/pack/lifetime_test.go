// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"weak"

	"github.com/kinformer/kinformer/internal/testing/process"
)

// len returns the number of bases in the table, including those that were garbage collected.
func (t *baseTable) len() (n int) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		n += len(s.bases)
		s.mu.Unlock()
	}
	return n
}

// TestRolloutsLeaveMemoryFlat replaces a constant number of objects by objects of new owners.
func TestRolloutsLeaveMemoryFlat(t *testing.T) {
	const live, replicas, shapes, warmUp = 200, 2, 97, 2
	var raws [shapes * replicas][]byte
	for i := range raws {
		raws[i] = podLike(i/replicas, i%replicas)
	}
	p := New()
	objects := make([]Object, live)
	var first float64
	var table uint64
	for round := range churnRounds {
		for i := range objects {
			n := round*live + i
			old := objects[i]
			if i%3 == 0 {
				old = Object{} // deleted and created instead of updated
			}
			objects[i] = p.Pack(raws[n%len(raws)], fmt.Sprint("owner ", n/replicas), old, Excerpt{})
		}
		runtime.GC() // or the table keeps bases that are not collected yet
		if round == warmUp {
			first, table = process.LiveHeap(), uint64(p.bases.len())
		}
	}
	if now := process.LiveHeap(); now > 1.1*first {
		t.Errorf("heap grew from %.0f bytes after round %d to %.0f", first, warmUp, now)
	}
	// A shard is swept once it has doubled.
	if now := uint64(p.bases.len()); now > max(2*table, shards*minSweep) {
		t.Errorf("the table grew from %d bases after round %d to %d, for %d owners", table, warmUp, now, live/replicas)
	}
	runtime.KeepAlive(objects)
	runtime.KeepAlive(raws)
}

func TestUnreferencedBaseIsCollected(t *testing.T) {
	p := New()
	base := p.Pack(podLike(1, 0), "owner", Object{}, Excerpt{})
	sibling := p.Pack(podLike(1, 1), "owner", Object{}, Excerpt{})
	watched := weak.Make(base.from)
	base = Object{}
	process.LiveHeap()
	if watched.Value() == nil {
		t.Fatal("a base was collected although another object is packed against it")
	}
	wantUnpacked(t, sibling, podLike(1, 1))
	sibling = Object{}
	for range 4 { // a workspace caches it until pools are cleared
		process.LiveHeap()
	}
	if watched.Value() != nil {
		t.Error("an unreferenced base was not collected")
	}
	runtime.KeepAlive([]Object{base, sibling})
	if o := p.Pack(podLike(1, 2), "owner", Object{}, Excerpt{}); !o.isBase() {
		t.Error("an owner without objects has a base")
	}
}

func TestUnreferencedDictionaryIsCollected(t *testing.T) {
	p := New()
	i := 0
	for ; p.trainer.current.Load() == nil; i++ {
		p.Pack(podLike(i, 0), "", Object{}, Excerpt{})
	}
	raw := podLike(i, 1)
	o := p.Pack(raw, "", Object{}, Excerpt{})
	watched := weak.Make(p.trainer.current.Load())
	for ; !p.trainer.done.Load(); i++ {
		p.Pack(podLike(i, 0), "", Object{}, Excerpt{})
	}
	process.LiveHeap()
	wantUnpacked(t, o, raw)
	o = Object{}
	process.LiveHeap()
	if watched.Value() != nil {
		t.Error("an unreferenced dictionary was not collected")
	}
	runtime.KeepAlive(o)
}

func TestConcurrentUse(t *testing.T) {
	p := New()
	var running sync.WaitGroup
	for worker := range 8 {
		running.Go(func() {
			objects := make([]Object, 60)
			for round := range concurrentRounds {
				for i := range objects {
					objects[i] = p.Pack(podLike(i/5, worker*1000+round*100+i), fmt.Sprint("owner ", i/5), objects[i], Excerpt{})
				}
				for i, o := range objects {
					wantUnpacked(t, o, podLike(i/5, worker*1000+round*100+i))
				}
			}
		})
	}
	running.Wait()
}
