// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package prometheus

import "strings"

// editsOf returns the changes of a unified diff. A file that the diff creates is the change of an
// empty one.
func editsOf(diff string) (edits []Edit) {
	file := ""
	for line := range strings.Lines(diff) {
		name, isFile := strings.CutPrefix(line, "+++ b/")
		switch {
		case isFile:
			file = strings.TrimSpace(name)
		case strings.HasPrefix(line, "--- "):
		case strings.HasPrefix(line, "@@ "):
			edits = append(edits, Edit{File: file})
		default:
			edits[len(edits)-1].add(line)
		}
	}
	return edits
}

// add adds a line of a unified diff.
func (e *Edit) add(line string) {
	if line[0] != '+' {
		e.Old += line[1:]
	}
	if line[0] != '-' {
		e.New += line[1:]
	}
}
