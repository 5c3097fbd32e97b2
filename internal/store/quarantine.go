package store

import (
	"sync"
	"sync/atomic"
)

// quarantine is the set of keys whose newest state could not be stored or read. It is nearly always
// empty, and its methods take no lock then.
type quarantine struct {
	size atomic.Int64 // len(keys)

	mu   sync.Mutex        // guards keys
	keys map[string]string // the version that could not be stored, or "" if a stored state could not be read
}

func (q *quarantine) len() int { return int(q.size.Load()) }

// failed reports whether key is quarantined, and returns the version that failed.
func (q *quarantine) failed(key string) (version string, ok bool) {
	if q.len() == 0 {
		return "", false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	version, ok = q.keys[key]
	return version, ok
}

// add adds a key, and reports whether it is new. A state that cannot be read (version "") does not
// replace the version of one that could not be stored.
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
