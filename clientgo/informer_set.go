package clientgo

import (
	"context"
	"sync"

	clientcache "k8s.io/client-go/tools/cache"
)

// informerSet holds the informers of a factory by key. Each is started once. It is safe for
// concurrent use.
type informerSet[K comparable] struct {
	mu        sync.Mutex // guards the fields below; running may be waited for without it
	informers map[K]clientcache.SharedIndexInformer
	started   map[K]bool
	closed    bool
	running   sync.WaitGroup
}

// informer returns the informer for key. It calls build if there is none.
func (s *informerSet[K]) informer(key K, build func() clientcache.SharedIndexInformer) clientcache.SharedIndexInformer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if informer, ok := s.informers[key]; ok {
		return informer
	}
	informer := build()
	if s.informers == nil {
		s.informers, s.started = map[K]clientcache.SharedIndexInformer{}, map[K]bool{}
	}
	s.informers[key] = informer
	return informer
}

// start runs each informer that was not started before, until ctx ends.
func (s *informerSet[K]) start(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for key, informer := range s.informers {
		if !s.started[key] {
			s.started[key] = true
			s.running.Go(func() { informer.RunWithContext(ctx) })
		}
	}
}

// waitForSync blocks until the started informers have synced, or ctx ends. For each of them it
// returns whether it has synced.
func (s *informerSet[K]) waitForSync(ctx context.Context) map[K]bool {
	informers := s.startedInformers()
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

func (s *informerSet[K]) startedInformers() map[K]clientcache.SharedIndexInformer {
	s.mu.Lock()
	defer s.mu.Unlock()
	informers := make(map[K]clientcache.SharedIndexInformer, len(s.informers))
	for key, informer := range s.informers {
		if s.started[key] {
			informers[key] = informer
		}
	}
	return informers
}

// shutdown makes later calls of start ineffective, and waits for the running informers to stop.
func (s *informerSet[K]) shutdown() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
}
