// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package repo_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	code    = regexp.MustCompile("(?ms)^\\s*```.*?^\\s*```|`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)

	testName = regexp.MustCompile("`(Test[A-Z]\\w*)`")
)

// TestLinksOfDocuments checks that each relative link of a document of the repository names a file
// that exists, and a heading of it if it has a fragment.
func TestLinksOfDocuments(t *testing.T) {
	links := 0
	for _, document := range documents(t) {
		for _, target := range linksOf(readText(t, document)) {
			links++
			if broken := brokenLink(t, document, target); broken != "" {
				t.Errorf("%s links to %s: %s", document, target, broken)
			}
		}
	}
	if links < 50 {
		t.Errorf("found %d links only", links)
	}
}

// TestFilesOfDocuments checks that each Go file that a document names exists. A name without a
// folder is one of the folder that was named before it in the line.
func TestFilesOfDocuments(t *testing.T) {
	span, files := regexp.MustCompile("`([\\w/.-]+\\.go)`"), 0
	for _, document := range documents(t) {
		for line := range strings.Lines(readText(t, document)) {
			folder := ""
			for _, match := range span.FindAllStringSubmatch(line, -1) {
				path := match[1]
				if strings.Contains(path, "/") {
					folder = filepath.Dir(path)
				} else if path = filepath.Join(folder, path); folder == "" {
					continue
				}
				if _, err := os.Stat(path); err != nil {
					t.Errorf("%s names a file that does not exist: %s", document, path)
				}
				files++
			}
		}
	}
	if files < 50 {
		t.Errorf("found %d files only", files)
	}
}

// TestTestsOfDocuments checks that each test that a document names exists.
func TestTestsOfDocuments(t *testing.T) {
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	exists := make(map[string]bool)
	for _, path := range filesNamed(t, ".go") {
		for _, match := range function.FindAllStringSubmatch(readText(t, path), -1) {
			exists[match[1]] = true
		}
	}
	names := 0
	for _, document := range documents(t) {
		for _, match := range testName.FindAllStringSubmatch(readText(t, document), -1) {
			if names++; !exists[match[1]] {
				t.Errorf("%s names %s, which does not exist", document, match[1])
			}
		}
	}
	if names < 200 {
		t.Errorf("found %d names of tests only", names)
	}
}

// TestContractIsHeld checks that docs/contract.md numbers its promises, and that each row of its
// tables names a test.
func TestContractIsHeld(t *testing.T) {
	promises := 0
	number := regexp.MustCompile(`^\| \*\*(\d+)\. `)
	for row := range strings.Lines(readText(t, "docs/contract.md")) {
		if match := number.FindStringSubmatch(row); match != nil {
			if promises++; match[1] != strconv.Itoa(promises) {
				t.Errorf("promise %s follows promise %d", match[1], promises-1)
			}
		}
		isRow := strings.HasPrefix(row, "| ") && !strings.HasSuffix(row, "| held by |\n")
		if isRow && !testName.MatchString(row) {
			t.Errorf("no test holds %s", row)
		}
	}
	if promises < 40 {
		t.Errorf("found %d promises", promises)
	}
}

// TestTablesOfDocuments checks that the second line of each table separates its head from its rows:
// after an empty line, rows are no table.
func TestTablesOfDocuments(t *testing.T) {
	separator, tables := regexp.MustCompile(`^\|[ :|-]+\|\n$`), 0
	for _, document := range documents(t) {
		length := 0
		for line := range strings.Lines(code.ReplaceAllString(readText(t, document), "")) {
			if length++; !strings.HasPrefix(line, "|") {
				length = 0
			} else if length == 2 {
				if tables++; !separator.MatchString(line) {
					t.Errorf("%s has a table without a head: %s", document, line)
				}
			}
		}
	}
	if tables < 50 {
		t.Errorf("found %d tables only", tables)
	}
}

// TestDocumentsSayWhomTheyAreFor checks the first paragraph of each page.
func TestDocumentsSayWhomTheyAreFor(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("found %d pages, error %v", len(pages), err)
	}
	for _, page := range append(pages, "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md") {
		if paragraphs := strings.Split(readText(t, page), "\n\n"); !strings.Contains(paragraphs[1], " is for ") {
			t.Errorf("%s begins with %q, want whom it is for", page, paragraphs[1])
		}
	}
}

// TestOptionsOfAdaptersAreDocumented checks that a page names each of clientgo.Options, which
// programs set that do not read the package's documentation.
func TestOptionsOfAdaptersAreDocumented(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, page := range pages {
		text.WriteString(readText(t, page))
	}
	_, fields, _ := strings.Cut(readText(t, "clientgo/options.go"), "\ntype Options struct {\n")
	fields, _, _ = strings.Cut(fields, "\n}\n")
	options := regexp.MustCompile(`(?m)^\t([A-Z]\w*)\s`).FindAllStringSubmatch(fields, -1)
	for _, option := range options {
		if !regexp.MustCompile(`\b` + option[1] + `\b`).MatchString(text.String()) {
			t.Errorf("no page has clientgo.Options.%s", option[1])
		}
	}
	if len(options) < 10 {
		t.Errorf("found %d options only", len(options))
	}
}

// documents returns the paths of the Markdown files of the repository.
func documents(t *testing.T) []string {
	t.Helper()
	return filesNamed(t, ".md")
}

// filesNamed returns the paths of the files of the repository whose names end in an extension.
func filesNamed(t *testing.T, extension string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".cache" || entry.Name() == ".git"):
			return fs.SkipDir
		case filepath.Ext(path) == extension:
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// linksOf returns the relative links of a document, but not what is code.
func linksOf(text string) (targets []string) {
	for _, match := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
		if target := match[1]; !strings.Contains(target, "://") && !strings.HasPrefix(target, "mailto:") {
			targets = append(targets, target)
		}
	}
	return targets
}

// brokenLink returns what is wrong with a link of a document, or "".
func brokenLink(t *testing.T, document, target string) string {
	t.Helper()
	path, fragment, hasFragment := strings.Cut(target, "#")
	file := filepath.Join(filepath.Dir(document), filepath.FromSlash(path))
	if path == "" {
		file = document
	}
	if _, err := os.Stat(file); err != nil {
		return "no such file"
	}
	if hasFragment && !slices.Contains(fragmentsOf(readText(t, file)), fragment) {
		return "no such heading"
	}
	return ""
}

// fragmentsOf returns the fragments of a document's headings, as GitHub makes them.
func fragmentsOf(text string) (fragments []string) {
	for _, match := range heading.FindAllStringSubmatch(text, -1) {
		title := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(match[1]), "")
		fragments = append(fragments, strings.ReplaceAll(title, " ", "-"))
	}
	return fragments
}

// TestBrokenLinks checks documents with links that are broken, or are none.
func TestBrokenLinks(t *testing.T) {
	for text, want := range map[string]string{
		"[a](go.mod)":                        "",
		"[a](missing.md)":                    "no such file",
		"[`a`](docs/missing.md)":             "no such file",
		"![a](docs/images/missing.png)":      "no such file",
		"[a](docs/contract.md#no-heading)":   "no such heading",
		"[a](docs/adopting.md#with-options)": "",
		"[a](https://example.com/missing)":   "",
		"`f[T](missing)`":                    "",
		"```go\nf[T](missing)\n```\n":        "",
	} {
		got := ""
		for _, target := range linksOf(text) {
			got = brokenLink(t, "README.md", target)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
