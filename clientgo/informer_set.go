package clientgo

import (
	"context"
	"sync"

	clientcache "k8s.io/client-go/tools/cache"
)

// fleet is the informers of a factory, by what they are asked for by. Each is started once.
type fleet[K comparable] struct {
	mu        sync.Mutex // guards what follows, but for running, to which is only added under it
	informers map[K]clientcache.SharedIndexInformer
	started   map[K]bool
	closed    bool
	running   sync.WaitGroup
}

// informer returns the informer of a key, which build makes if there is none yet.
func (f *fleet[K]) informer(key K, build func() clientcache.SharedIndexInformer) clientcache.SharedIndexInformer {
	f.mu.Lock()
	defer f.mu.Unlock()
	if made, ok := f.informers[key]; ok {
		return made
	}
	made := build()
	if f.informers == nil {
		f.informers, f.started = map[K]clientcache.SharedIndexInformer{}, map[K]bool{}
	}
	f.informers[key] = made
	return made
}

// start runs the informers that do not run yet, until ctx ends.
func (f *fleet[K]) start(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	for key, informer := range f.informers {
		if !f.started[key] {
			f.started[key] = true
			f.running.Go(func() { informer.RunWithContext(ctx) })
		}
	}
}

// sync waits until the informers that were started have synced, or ctx ends. It tells which
// have.
func (f *fleet[K]) sync(ctx context.Context) map[K]bool {
	informers := f.startedOnes()
	checkers := make([]clientcache.DoneChecker, 0, len(informers))
	for _, informer := range informers {
		checkers = append(checkers, informer.HasSyncedChecker())
	}
	clientcache.WaitFor(ctx, "", checkers...)
	synced := make(map[K]bool, len(informers))
	for key, informer := range informers {
		synced[key] = informer.HasSynced()
	}
	return synced
}

func (f *fleet[K]) startedOnes() map[K]clientcache.SharedIndexInformer {
	f.mu.Lock()
	defer f.mu.Unlock()
	informers := make(map[K]clientcache.SharedIndexInformer, len(f.informers))
	for key, informer := range f.informers {
		if f.started[key] {
			informers[key] = informer
		}
	}
	return informers
}

// shutdown lets no informer be started any more, and waits for those that run.
func (f *fleet[K]) shutdown() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.running.Wait()
}
