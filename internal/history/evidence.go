// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import "fmt"

// Evidence is what shows that a server's history differs from what was received.
type Evidence int

// The values of Evidence, the weakest first.
const (
	None          Evidence = iota
	OtherContents          // a version of an object has other contents, and no stamp of a write
	OtherHistory           // a change is missing, or there is one that was not received
	OtherWrite             // a version of an object was made by another write
)

// evidence returns what two stamps of one version of an object show.
func (s Stamp) evidence(other Stamp) Evidence {
	switch {
	case s.form != other.form, s.sum == other.sum:
		return None
	case s.form == jsonContents, s.form == protobufContents, s.form == decodedContents:
		return OtherContents
	}
	return OtherWrite
}

// Error says what shows that a server's history differs.
type Error struct {
	Evidence Evidence
	text     string
}

// Error returns the text.
func (e *Error) Error() string { return e.text }

// Errorf returns an error with a text.
func Errorf(evidence Evidence, format string, args ...any) error {
	return &Error{evidence, fmt.Sprintf(format, args...)}
}
