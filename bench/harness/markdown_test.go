// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReplaceSection(t *testing.T) {
	const page = "# Page\n<!-- bench: a -->\nold\n<!-- bench: end of a -->\ntext\n<!-- bench: b -->\n<!-- bench: end of b -->\n"
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "a"} { // the second "a" replaces the first
		if err := ReplaceSection(path, name, "table of "+name+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	const want = "# Page\n<!-- bench: a -->\n\ntable of a\n<!-- bench: end of a -->\ntext\n<!-- bench: b -->\n\ntable of b\n<!-- bench: end of b -->\n"
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("got\n%s\n%v, want\n%s", got, err, want)
	}
	if err := ReplaceSection(path, "c", "table"); err == nil {
		t.Error("no error for a section that does not exist")
	}
	if got, _ := os.ReadFile(path); string(got) != want {
		t.Errorf("a section that does not exist changed the page to\n%s", got)
	}
}
