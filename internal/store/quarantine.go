package store

import (
	"sync"
	"sync/atomic"
)

// quarantine is the set of keys whose newest state could not be stored or read.
// It is nearly always empty, and asking it then takes no lock.
type quarantine struct {
	size atomic.Int64
	mu   sync.Mutex
	keys map[string]struct{}
}

func (q *quarantine) len() int { return int(q.size.Load()) }

func (q *quarantine) has(key string) bool {
	if q.len() == 0 {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	_, ok := q.keys[key]
	return ok
}

func (q *quarantine) add(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.keys == nil {
		q.keys = make(map[string]struct{})
	}
	q.keys[key] = struct{}{}
	q.size.Store(int64(len(q.keys)))
}

func (q *quarantine) release(key string) {
	if q.len() == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.keys, key)
	q.size.Store(int64(len(q.keys)))
}

// set makes the quarantine hold exactly keys, which it keeps.
func (q *quarantine) set(keys map[string]struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.keys = keys
	q.size.Store(int64(len(keys)))
}
