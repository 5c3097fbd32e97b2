// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"testing"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
)

func TestSanitizeRemovesControlCharacters(t *testing.T) {
	for text, want := range map[string]string{
		"as it is,  ünchanged":  "as it is,  ünchanged",
		"two\nlines\r\n":        "two lines",
		"\x1b[2Jgone\a":         "[2Jgone",
		"a\tb\u200b\u202ec\x00": "a b c",
	} {
		if got := command.Sanitize(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
