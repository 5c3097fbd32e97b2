// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package repo_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxWords and maxProse are how long README.md may be: in words, and in words outside of code and
// tables.
const maxWords, maxProse = 1400, 700

var (
	definition = regexp.MustCompile(`(?m)^\[([\w-]+)\]: (\S+)\n`)
	reference  = regexp.MustCompile(`\[[^\]]+\]\[([\w-]+)\]`)
	remark     = regexp.MustCompile(`<!--.*-->\n`)
	codeBlock  = regexp.MustCompile("(?ms)^```.*?^```\n")
	tableLine  = regexp.MustCompile(`(?m)^\|.*\n`)
	holder     = regexp.MustCompile("`(?:Test\\w+|make [\\w-]+|e2e/[\\w/]+)`|row \\*[\\w-]+\\*")
)

// TestReadmeIsShort counts the words of README.md, without the targets of its references.
func TestReadmeIsShort(t *testing.T) {
	text := remark.ReplaceAllString(definition.ReplaceAllString(readText(t, "README.md"), ""), "")
	if n := len(strings.Fields(text)); n > maxWords {
		t.Errorf("README.md has %d words, want at most %d", n, maxWords)
	}
	prose := tableLine.ReplaceAllString(codeBlock.ReplaceAllString(text, ""), "")
	if n := len(strings.Fields(prose)); n > maxProse {
		t.Errorf("README.md has %d words outside of code and tables, want at most %d", n, maxProse)
	}
	if n := len(strings.Fields(prose)); n < maxProse/4 {
		t.Errorf("found %d words of prose only", n)
	}
}

// TestReadmeLinksEachDocument checks that README.md leads to each document.
func TestReadmeLinksEachDocument(t *testing.T) {
	links := linksOf(readText(t, "README.md"))
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range documents {
		if !slices.Contains(links, document) {
			t.Errorf("README.md does not link %s", document)
		}
	}
	if len(documents) < 10 {
		t.Errorf("found %d documents", len(documents))
	}
}

// TestReadmeHasTheBasicExample checks that the program in README.md is the Example of package
// cache, except for the client and the end.
func TestReadmeHasTheBasicExample(t *testing.T) {
	_, example, found := strings.Cut(readText(t, "cache/example_test.go"), "\tnodes := ")
	example, _, ends := strings.Cut(example, "\n\n\tcancel()\n")
	if !found || !ends || !strings.Contains(readText(t, "README.md"), "\tnodes := "+example+"\n") {
		t.Errorf("README.md does not have the code of cache/example_test.go:\n%s", example)
	}
}

// TestReadmeClaimsAreHeld checks the tables of README.md whose last column is "measured by" or
// "held by": each row names a test, a row of the benchmarks, a target of make or a folder, or it
// links the source of what it says of others. What README.md names exists.
func TestReadmeClaimsAreHeld(t *testing.T) {
	readme, column, claims := readText(t, "README.md"), "", 0
	for line := range strings.Lines(readme) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		by := strings.TrimSpace(cells[len(cells)-1])
		switch {
		case !strings.HasPrefix(line, "|"):
			column = ""
		case column == "":
			column = by
		case strings.HasPrefix(line, "|-") || strings.HasPrefix(line, "| -") || column != "measured by" && column != "held by":
		case by == "source" && reference.MatchString(line) || holder.MatchString(by):
			claims++
		default:
			t.Errorf("%q in README.md is %s nothing: %s", cells[0], column, by)
		}
	}
	if claims < 16 {
		t.Errorf("found %d claims only", claims)
	}
	exists := holders(t)
	for _, name := range holder.FindAllString(readme, -1) {
		if _, err := os.Stat(strings.Trim(name, "`")); err != nil && !exists[name] { // no folder either
			t.Errorf("README.md names %s, which does not exist", name)
		}
	}
}

// holders returns the tests, rows and targets that a claim of README.md may name, as README.md
// writes them.
func holders(t *testing.T) map[string]bool {
	t.Helper()
	exists := map[string]bool{}
	function, quoted := regexp.MustCompile(`(?m)^func (Test\w+)\(`), regexp.MustCompile(`"([a-z-]+)"`)
	for _, path := range filesNamed(t, ".go") {
		isRow := strings.HasPrefix(path, "bench/rows/")
		if !isRow && !strings.HasSuffix(path, "_test.go") {
			continue
		}
		text := readText(t, path)
		for _, match := range function.FindAllStringSubmatch(text, -1) {
			exists["`"+match[1]+"`"] = true
		}
		if isRow {
			for _, match := range quoted.FindAllStringSubmatch(text, -1) {
				exists["row *"+match[1]+"*"] = true
			}
		}
	}
	for _, match := range regexp.MustCompile(`(?m)^([\w-]+):`).FindAllStringSubmatch(readText(t, "Makefile"), -1) {
		exists["`make "+match[1]+"`"] = true
	}
	return exists
}

// TestReadmeComparesNamedVersions checks that the links to the source of other projects are used,
// and lead to the versions that README.md names; those of client-go and of controller-runtime are
// what the tests have. Read the cells of the table against the new source before a version changes.
func TestReadmeComparesNamedVersions(t *testing.T) {
	readme := readText(t, "README.md")
	projects := regexp.MustCompile(`client-go (\S+), controller-runtime (\S+), krt of Istio (\S+), kube-rs (\S+)\. `).FindStringSubmatch(readme)
	if projects == nil {
		t.Fatal("README.md does not name the versions of the other projects")
	}
	for version, want := range map[string]string{
		requirements(t, "bench/go.mod")["k8s.io/client-go"]:                               projects[1],
		requirements(t, "e2e/controllerruntime/go.mod")["sigs.k8s.io/controller-runtime"]: projects[2],
	} {
		if version != want {
			t.Errorf("README.md compares version %s, the tests have %s", want, version)
		}
	}
	targets := map[string]string{}
	for _, match := range definition.FindAllStringSubmatch(readme, -1) {
		targets[match[1]] = match[2]
	}
	for _, match := range reference.FindAllStringSubmatch(readme, -1) {
		if targets[match[1]] == "" {
			t.Errorf("README.md has no target of %s", match[0])
		}
	}
	for name, target := range targets {
		version := regexp.MustCompile(`/blob/([^/]+)/`).FindStringSubmatch(target)
		if version != nil && !slices.Contains(projects[1:], version[1]) {
			t.Errorf("[%s] leads to version %s, which README.md does not name", name, version[1])
		}
		if !strings.Contains(readme, "]["+name+"]") {
			t.Errorf("README.md does not use [%s]", name)
		}
	}
	if len(targets) < 20 {
		t.Errorf("found %d targets only", len(targets))
	}
}
