// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"sync"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// maxAsked is the number of objects that a server is asked for. Each may legally be gone.
const maxAsked = 3

// Verdict is what the answers to a Question prove of the server's history.
type Verdict int

// The values of Verdict.
const (
	Unproved Verdict = iota // nothing
	Proved                  // it has a change that was received, see Question.ProvedTo
	Refuted                 // it does not have all changes that were received: an *Error
	Absent                  // an object is gone: it depends on whether the watch sends its deletion
)

// Question asks a server for the objects of the newest changes, one at a time, to prove that it has
// these changes. Deleted may be called concurrently with the other methods.
type Question struct {
	newest []state // of different objects, the newest first, at most maxAsked
	last   bool    // the first of them is the last change: no deletion followed
	asked  int
	proved string

	mu     sync.Mutex      // guards absent
	absent map[string]bool // keys of objects that are gone; true once the watch has sent the deletion
}

// Question returns the question for the changes that were received since the last list, or nil if
// none of them has an object.
func (h *History) Question() *Question {
	q := &Question{absent: make(map[string]bool)}
	events := h.received()
	seen := make(map[string]bool) // keys with a newer change
	for i := len(events) - 1; i >= 0 && len(q.newest) < maxAsked; i-- {
		event := events[i]
		if event.event != watch.Deleted && !seen[event.key] {
			q.newest = append(q.newest, event)
			q.last = q.last || i == len(events)-1
		}
		seen[event.key] = true
	}
	if len(q.newest) == 0 {
		return nil
	}
	return q
}

// Key returns the key of the next object to ask for.
func (q *Question) Key() string { return q.newest[q.asked].key }

// Answer is what a server has answered: a list that consists of the object.
type Answer struct {
	Version string // of the list
	Object  *feed.Item
	Stamp   Stamp // of the object
}

// Answer returns what an answer proves. more reports that the next object is to be asked for. err
// is an *Error if what was received is refuted.
func (q *Question) Answer(a Answer) (v Verdict, more bool, err error) {
	want := q.newest[q.asked]
	q.asked++
	switch {
	case a.Object == nil:
		q.isGone(want.key)
		return Absent, q.asked < len(q.newest), nil
	case feed.IsOlder(want.version, a.Object.ResourceVersion):
		return Unproved, false, nil // it was written again
	case a.Object.ResourceVersion != want.version:
		if feed.IsOlder(a.Version, want.version) || !feed.IsOlder(a.Object.ResourceVersion, want.version) {
			return Unproved, false, nil // a replica that lags, or versions that are not comparable
		}
		return Refuted, false, Errorf(OtherHistory, "%q is at %s, was at %s", want.key, a.Object.ResourceVersion, want.version)
	case a.Object.UID != want.uid:
		return Refuted, false, Errorf(OtherHistory, "%q has another UID at %s", want.key, want.version)
	case want.stamp.evidence(a.Stamp) != None:
		return Refuted, false, Errorf(want.stamp.evidence(a.Stamp), "%q was written again at %s", want.key, want.version)
	}
	if q.proved = want.version; q.asked > 1 {
		return Absent, false, nil
	}
	return Proved, false, nil
}

// isGone records that an object is not there.
func (q *Question) isGone(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, deleted := q.absent[key]; !deleted {
		q.absent[key] = false
	}
}

// Deleted records that the watch has sent the deletion of an object.
func (q *Question) Deleted(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.absent[key] = true
}

// Deletions returns what Absent comes to after a while: nothing is proved if the watch has sent the
// deletions of all objects that are gone. Otherwise what was received is refuted.
func (q *Question) Deletions() (Verdict, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key, deleted := range q.absent {
		if !deleted {
			return Refuted, Errorf(OtherHistory, "%q is absent, and the watch does not send its deletion", key)
		}
	}
	return Unproved, nil
}

// ProvedTo returns the version of the change that was Proved, and whether that is the last one.
func (q *Question) ProvedTo() (version string, last bool) { return q.proved, q.last }
