// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

// evidence is what an overlap has shown that causes a list.
type evidence int

const (
	noEvidence         evidence = iota // the list has another cause
	missingChanges                     // the server did not repeat the last changes: ErrHistoryChanged
	otherContents                      // the server repeated them in other bytes
	historyUnavailable                 // the server had no such history, or ended the watch too early
)

// maxFalseAlarms is the number of false alarms in a row after which the server is assumed not to
// repeat events, or to repeat them in other bytes.
const maxFalseAlarms = 2

// falseAlarms counts the lists in a row that an overlap caused and that showed no difference, after
// missingChanges and after otherContents. API servers repeat events as they sent them, and cause
// hardly any.
type falseAlarms struct{ changes, contents int }

// listed records a list and its cause. differed says that the list differed from the sink's state
// at the version reached. A list with another cause resets both counts, so that the next watch has
// an overlap again.
func (f *falseAlarms) listed(cause evidence, differed bool) {
	switch {
	case cause == historyUnavailable:
	case cause == missingChanges && !differed:
		f.changes++
	case cause == otherContents && !differed:
		f.contents++
	default:
		*f = falseAlarms{}
	}
}

// repeated records that the server repeated all changes. sameContents says that it repeated them in
// the same bytes.
func (f *falseAlarms) repeated(sameContents bool) {
	if f.changes = 0; sameContents {
		f.contents = 0
	}
}

// repeatsNothing reports whether the server is assumed not to repeat events.
func (f *falseAlarms) repeatsNothing() bool { return f.changes >= maxFalseAlarms }

// repeatsOtherBytes reports whether the server is assumed to encode the same object in different
// ways.
func (f *falseAlarms) repeatsOtherBytes() bool { return f.contents >= maxFalseAlarms }
