// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

// overlap compares the first events of a resumed watch with the journal. If etcd was restored, and
// the server repeats the last change, then the backup contains it.
type overlap struct {
	journal *journal
	start   string       // the resourceVersion at which the watch starts
	last    string       // the resourceVersion of the last change
	recent  bool         // the server certainly has the last change
	next    int          // index of the entry whose changes come next
	seen    journalEntry // the repeated changes of that entry; its version is not set

	anyEqual, anyDiffers bool // some entry was repeated with equal, or with other contents
	lastDiffers          bool // the last repeated entry had other contents

	repeated [journalSize]journalEntry // those of seen that are complete, by the index of their entry
}

// repeat compares an event with the next change of the journal, and reports whether it is that
// change. It must not be called once done returns true.
func (o *overlap) repeat(c change) bool {
	want := o.journal.at(o.next)
	switch {
	case o.seen.changes == 0 && c.version != string(want.version):
		return false
	case o.seen.changes > 0 && isNewer(c.version, want.version):
		return false // and a change of this version is missing
	}
	if o.seen.add(c); o.seen.changes < want.changes {
		return true
	}
	if o.seen.identity != want.identity {
		return false
	}
	o.repeated[o.next] = o.seen
	o.compareContents(want)
	o.next, o.seen = o.next+1, journalEntry{}
	return true
}

// compareContents compares the contents of an entry whose changes were all repeated. Contents in
// different encodings cannot be compared.
func (o *overlap) compareContents(want *journalEntry) {
	if o.lastDiffers = false; want.encoding == unknownEncoding || want.encoding != o.seen.encoding {
		return
	}
	o.lastDiffers = want.content != o.seen.content
	o.anyDiffers = o.anyDiffers || o.lastDiffers
	o.anyEqual = o.anyEqual || !o.lastDiffers
}

// allowsBookmark reports whether the server may send a bookmark at version now: all changes up to
// version have been repeated. It must not be called once done returns true.
func (o *overlap) allowsBookmark(version string) bool {
	return !isNewer(version, o.journal.at(o.next).version) && version != string(o.journal.at(o.next).version)
}

// done reports whether all changes have been repeated. Changes of the last version that were not
// received before may follow.
func (o *overlap) done() bool { return o.next == o.journal.n }

// differsLate reports whether the last entry has other contents than before, and an earlier one has
// the same: the last one was then written after a restore. Otherwise contents that differ mean that
// the server encodes objects in another way.
func (o *overlap) differsLate() bool { return o.lastDiffers && o.anyEqual }

// adopt makes the journal hold the contents as the server has repeated them, so that a server that
// encodes objects in another way than the last one is found out once.
func (o *overlap) adopt() {
	for i, repeated := range o.repeated {
		if repeated.encoding != unknownEncoding {
			entry := o.journal.at(i)
			entry.content, entry.encoding = repeated.content, repeated.encoding
		}
	}
}
