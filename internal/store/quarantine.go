package store

import (
	"sync"
	"sync/atomic"
)

// quarantine is the set of keys whose newest state could not be stored or read,
// each with the version that failed: empty for a stored state that could not be
// read. It is nearly always empty, and asking it then takes no lock.
type quarantine struct {
	size atomic.Int64
	mu   sync.Mutex
	keys map[string]string
}

func (q *quarantine) len() int { return int(q.size.Load()) }

// failed returns the version of key that failed, and whether one did.
func (q *quarantine) failed(key string) (version string, ok bool) {
	if q.len() == 0 {
		return "", false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	version, ok = q.keys[key]
	return version, ok
}

// add tells whether the key is new here. What cannot be read does not make
// forget what could not be stored.
func (q *quarantine) add(key, version string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.keys == nil {
		q.keys = make(map[string]string)
	}
	_, known := q.keys[key]
	if !known || version != "" {
		q.keys[key] = version
	}
	q.size.Store(int64(len(q.keys)))
	return !known
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

// all returns the keys.
func (q *quarantine) all() (keys []string) {
	if q.len() == 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for key := range q.keys {
		keys = append(keys, key)
	}
	return keys
}
