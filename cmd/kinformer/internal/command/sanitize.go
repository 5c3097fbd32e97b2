// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"
	"unicode"
)

// Sanitize makes text from other sources safe to print on one line of a terminal. It removes line
// breaks and escape sequences.
func Sanitize(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }), " ")
}
