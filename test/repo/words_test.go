// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package repo_test

import (
	"go/parser"
	"go/token"
	"regexp"
	"testing"
)

// phrases are wordings that comments avoid, since a reader has to read them twice: "reports
// whether" says it for a boolean, and a sentence's subject is the thing that acts.
var phrases = regexp.MustCompile(`(?i)\b(tells whether|says whether|hears? of|(is|are|was|were) told|whoever|nobody|somebody|what it returns|there is one for each)\b`)

// TestWordsOfTheField checks the comments of every Go file of the repository, those of nested modules
// included.
func TestWordsOfTheField(t *testing.T) {
	files := filesNamed(t, ".go")
	for _, path := range files {
		if path != "test/repo/words_test.go" {
			checkFile(t, path)
		}
	}
	if len(files) < 100 {
		t.Errorf("read %d files only", len(files))
	}
}

func checkFile(t *testing.T, path string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
	if err != nil {
		t.Error(err)
		return
	}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if found := phrases.FindString(comment.Text); found != "" {
				t.Errorf("%s: %q in a comment", set.Position(comment.Pos()), found)
			}
		}
	}
}

// TestPhrases checks the expression itself.
func TestPhrases(t *testing.T) {
	for text, want := range map[string]bool{
		"Has tells whether key is in the set.":      true,
		"a handler is told updates":                 true,
		"Whoever reads it":                          true,
		"Has reports whether key is in the set.":    false,
		"the kind of the pending object at its end": false,
	} {
		if got := phrases.MatchString(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
