// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import "time"

// journalSize is the number of versions that a journal holds. One would be enough to recognize the
// server's history. If the contents of the last one differ, the others show whether the server
// encodes all objects differently, or has used a version again.
const journalSize = 8

// watchWindow is how long a server certainly has a version for watches. The watch cache of
// kube-apiserver keeps events for at least 75 s.
const watchWindow = 75 * time.Second

// journal holds the last changes that were received on a stream, so that a resumed watch can start
// before them and compare what the server repeats. It is empty after a list. It keeps hashes of the
// changes, at most 1 kB, and is not safe for concurrent use.
type journal struct {
	before     []byte // a resourceVersion received before the oldest entry
	beforeAt   int64  // a time at which the stream was at that version, in Unix nanoseconds
	beforeLast []byte // the resourceVersion reached before the newest entry
	entries    [journalSize]journalEntry
	first      int // index of the oldest entry
	n          int // number of entries
}

// journalEntry holds the changes of one version. A version has several changes if etcd deletes
// several objects at once, such as Events whose leases expire together.
type journalEntry struct {
	version  []byte // of the first change; the others are not newer
	at       int64  // when that was received, in Unix nanoseconds
	changes  int    // number of changes
	identity uint64 // hash of the identities of all changes, in order
	content  uint64 // hash of their contents
	encoding encoding
}

// reset empties the journal. reached is the resourceVersion that the stream has reached.
func (j *journal) reset(reached string) {
	j.before, j.first, j.n = append(j.before[:0], reached...), 0, 0
}

// record adds a change that was received now. reached is the resourceVersion that the stream had
// reached before it. If the journal is full, the oldest entry is dropped.
func (j *journal) record(c change, reached string, now time.Time) {
	if j.n > 0 && !isNewer(c.version, j.at(j.n-1).version) {
		j.at(j.n - 1).add(c)
		return
	}
	switch j.n {
	case 0:
		j.before, j.beforeAt = append(j.before[:0], reached...), now.UnixNano()
		j.n++
	case journalSize:
		j.before, j.beforeAt = append(j.before[:0], j.at(0).version...), j.at(0).at
		j.first = (j.first + 1) % journalSize
	default:
		j.n++
	}
	j.beforeLast = append(j.beforeLast[:0], reached...)
	last := j.at(j.n - 1)
	*last = journalEntry{version: append(last.version[:0], c.version...), at: now.UnixNano()}
	last.add(c)
}

// at returns the ith entry, counted from the oldest.
func (j *journal) at(i int) *journalEntry { return &j.entries[(j.first+i)%journalSize] }

// overlap returns the comparison for a watch that is resumed now, or nil if the journal is empty or
// no watch can start before its changes. The watch starts before the oldest change that the server
// certainly has, or at least before the last one: a start of an hour ago would be refused by a
// healthy server. The journal must not be changed until the comparison has ended.
func (j *journal) overlap(now time.Time) *overlap {
	if j.n == 0 {
		return nil
	}
	o := &overlap{journal: j, start: string(j.beforeLast), next: j.n - 1, last: string(j.at(j.n - 1).version)}
	oldest := now.Add(-watchWindow).UnixNano()
	o.recent = j.at(j.n-1).at >= oldest
	if j.beforeAt >= oldest {
		o.start, o.next = string(j.before), 0
	} else if i := j.firstSince(oldest); i < j.n-1 {
		o.start, o.next = string(j.at(i).version), i+1
	}
	if !isValid(o.start) || o.start == "0" {
		return nil
	}
	return o
}

// firstSince returns the index of the oldest entry that was received at a time or later, or n.
func (j *journal) firstSince(at int64) int {
	for i := range j.n {
		if j.at(i).at >= at {
			return i
		}
	}
	return j.n
}

// endsInGroup reports whether the stream has reached the last entry, and no more, which has several
// changes. The server may have more of them.
func (j *journal) endsInGroup(reached string) bool {
	return j.n > 0 && j.at(j.n-1).changes > 1 && string(j.at(j.n-1).version) == reached
}

// add adds a change to an entry.
func (e *journalEntry) add(c change) {
	if e.changes == 0 {
		e.encoding = c.encoding
	} else if e.encoding != c.encoding {
		e.encoding = unknownEncoding
	}
	e.changes++
	e.identity, e.content = mix(e.identity, c.identity), mix(e.content, c.content)
}

// isNewer reports whether a version is newer than another. Both are valid, so that the one with
// more digits is the greater number.
func isNewer(version string, than []byte) bool {
	if len(version) != len(than) {
		return len(version) > len(than)
	}
	return version > string(than)
}
