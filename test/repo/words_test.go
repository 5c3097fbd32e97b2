// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package repo_test

import (
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is the width of comments, of which a tab takes four columns.
const maxColumns = 100

// phrases are wordings that comments avoid, since a reader has to read them twice: "reports
// whether" says it for a boolean, and a sentence's subject is the thing that acts.
var phrases = regexp.MustCompile(`(?i)\b(tells whether|says whether|hears? of|(is|are|was|were) told|whoever|nobody|somebody|what it returns|there is one for each)\b`)

// TestWordsOfTheField checks the words and the width of the comments of every Go file of the
// repository, those of nested modules included.
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
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, parser.ParseComments)
	if err != nil {
		t.Error(err)
		return
	}
	for _, group := range file.Comments {
		isOutput := strings.Contains(group.Text(), "utput:\n") // of an example
		for _, comment := range group.List {
			place := set.Position(comment.Pos())
			if found := phrases.FindString(comment.Text); found != "" {
				t.Errorf("%s: %q in a comment", place, found)
			}
			before := string(source[place.Offset-place.Column+1 : place.Offset])
			if !isOutput && isTooWide(before, comment.Text) {
				t.Errorf("%s: the comment is wider than %d columns", place, maxColumns)
			}
		}
	}
}

// isTooWide reports whether a comment is to be wrapped. Those beside code and the code in comments
// are not.
func isTooWide(before, comment string) bool {
	isText := strings.Trim(before, "\t") == "" && strings.HasPrefix(comment, "// ")
	return isText && 4*len(before)+utf8.RuneCountInString(comment) > maxColumns
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

// TestWidthOfComments checks isTooWide itself.
func TestWidthOfComments(t *testing.T) {
	fits := "// " + strings.Repeat("é", maxColumns-3)
	for _, tt := range []struct {
		before, comment string
		want            bool
	}{
		{"", fits, false},
		{"", fits + ".", true},
		{"\t", fits, true},
		{"\tx := 1 ", fits, false},
		{"", "//\t" + fits, false},
	} {
		if got := isTooWide(tt.before, tt.comment); got != tt.want {
			t.Errorf("%q before %q: %v, want %v", tt.before, tt.comment, got, tt.want)
		}
	}
}
