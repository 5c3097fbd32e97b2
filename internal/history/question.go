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
	Proved                  // it has all changes that were received
	Refuted                 // it does not have all changes that were received: an *Error
	Absent                  // an object is gone: it depends on whether the watch sends its deletion
)

// Question asks a server for the objects of the newest changes, one at a time, to prove that it has
// these changes: first for those that are no deletions, until one is there, and then for those that
// were deleted after the newest. Deleted may be called concurrently with the other methods.
type Question struct {
	newest  []state // of different objects, the newest first, at most maxAsked
	deleted []state // after newest[0], the newest first, at most maxAsked
	more    bool    // more of them were deleted
	asked   int     // of newest
	gone    int     // of deleted
	proved  bool    // the server has newest[0]

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
		switch {
		case event.event != watch.Deleted && !seen[event.key]:
			q.newest = append(q.newest, event)
		case event.event == watch.Deleted && len(q.newest) == 0 && len(q.deleted) < maxAsked:
			q.deleted = append(q.deleted, event)
		case event.event == watch.Deleted && len(q.newest) == 0:
			q.more = true
		}
		seen[event.key] = true
	}
	if len(q.newest) == 0 {
		return nil
	}
	return q
}

// Key returns the key of the next object to ask for.
func (q *Question) Key() string {
	if q.proved {
		return q.deleted[q.gone].key
	}
	return q.newest[q.asked].key
}

// Answer is what a server has answered: a list that consists of the object.
type Answer struct {
	Version string // of the list
	Object  *feed.Item
	Stamp   Stamp // of the object
}

// Answer returns what an answer proves. more reports that the next object is to be asked for. err
// is an *Error if what was received is refuted.
func (q *Question) Answer(a Answer) (v Verdict, more bool, err error) {
	if q.proved {
		return q.answerDeleted(a)
	}
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
	if q.asked > 1 {
		return Absent, false, nil
	}
	q.proved = true
	return Proved, len(q.deleted) > 0, nil
}

// answerDeleted is Answer for an object that was deleted. A newer state of it has left the
// selection, which is a deletion, too.
func (q *Question) answerDeleted(a Answer) (v Verdict, more bool, err error) {
	want := q.deleted[q.gone]
	q.gone++
	switch {
	case feed.IsOlder(a.Version, want.group):
		return Unproved, false, nil
	case a.Object != nil && a.Object.UID == want.uid && feed.IsOlder(a.Object.ResourceVersion, want.group):
		return Refuted, false, Errorf(OtherHistory, "%q is at %s, was deleted at %s", want.key, a.Object.ResourceVersion, want.group)
	case q.gone < len(q.deleted):
		return Proved, true, nil
	case q.more:
		return Unproved, false, nil
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
