// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package errlog

import (
	"maps"
	"sync"
	"time"
)

// repeatAfter is how long an error is not logged again.
const repeatAfter = 5 * time.Minute

// maxTexts is the number of texts that a Repeats remembers. It forgets all of them before it adds
// one more.
const maxTexts = 100

// Repeats remembers the texts of errors that were logged within repeatAfter. It is safe for
// concurrent use. The zero value remembers none.
type Repeats struct {
	mu     sync.Mutex // guards logged
	logged map[string]time.Time
}

// IsNew reports whether no error with this text was logged within repeatAfter. If so, the caller
// must log the error, and IsNew remembers the text.
func (r *Repeats) IsNew(text string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.has(text, now) {
		return false
	}
	maps.DeleteFunc(r.logged, func(_ string, at time.Time) bool { return now.Sub(at) >= repeatAfter })
	if r.logged == nil || len(r.logged) >= maxTexts {
		r.logged = make(map[string]time.Time)
	}
	r.logged[text] = now
	return true
}

// Has reports whether an error with this text was logged within repeatAfter.
func (r *Repeats) Has(text string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.has(text, now)
}

// has is Has. The caller holds mu.
func (r *Repeats) has(text string, now time.Time) bool {
	at, known := r.logged[text]
	return known && now.Sub(at) < repeatAfter
}

// Forget makes every error new.
func (r *Repeats) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logged = nil
}
