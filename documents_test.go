// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeListsEachDocument checks that the section "Documents" of README.md links each document
// once.
func TestReadmeListsEachDocument(t *testing.T) {
	_, section, ok := strings.Cut(readText(t, "README.md"), "\n## Documents\n")
	if !ok {
		t.Fatal("README.md has no section Documents")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range documents {
		if n := strings.Count(section, "]("+document+")"); n != 1 {
			t.Errorf("the section Documents of README.md links %s %d times, want once", document, n)
		}
	}
	if len(documents) < 10 {
		t.Errorf("found %d documents", len(documents))
	}
}
