// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/feed"
)

// repeatAfter is how long an error is not logged again.
const repeatAfter = 5 * time.Minute

// Repeats recognizes an error that has just been logged. It is safe for concurrent use.
type Repeats struct {
	Clock clock.PassiveClock // required

	mu     sync.Mutex // guards the fields below
	last   string
	logged time.Time
}

// IsNew reports whether an error's text is to be logged: it is another one than the last, or that
// was logged five minutes ago.
func (r *Repeats) IsNew(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Clock.Now()
	if text == r.last && now.Sub(r.logged) < repeatAfter {
		return false
	}
	r.last, r.logged = text, now
	return true
}

// Forget makes the next error a new one.
func (r *Repeats) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = ""
}

// objectMessages say what has become of an object.
var objectMessages = map[feed.Effect]string{ //nolint:gochecknoglobals // a constant
	feed.NotStored:         "Object not stored",
	feed.LastStateKept:     "Object's newest state not stored, the last good state is kept",
	feed.NotIndexed:        "Object stored, but an index does not find it",
	feed.Unreadable:        "Packed object cannot be decoded, it will be fetched again",
	feed.FinalStateUnknown: "Object deleted, its event has the last known state",
	feed.Duplicate:         "Object listed more than once, the newest version is stored",
}

// LogObjectError logs an error on an object.
func LogObjectError(logger klog.Logger, key string, effect feed.Effect, err error) {
	logger.Error(err, objectMessages[effect], "object", key)
}
