// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// block is a block of Go in a document.
type block struct {
	document string
	line     int // of lines[0]
	lines    []string
}

// blocksOf returns the blocks of a document.
func blocksOf(document, text string) (blocks []block) {
	inBlock := false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case !inBlock && strings.TrimSpace(line) == "```go":
			inBlock = true
			blocks = append(blocks, block{document: document, line: i + 2})
		case inBlock && strings.TrimSpace(line) == "```":
			inBlock = false
		case inBlock:
			last := &blocks[len(blocks)-1]
			last.lines = append(last.lines, line)
		}
	}
	return blocks
}

// program is Go code as the compiler takes it. //line comments give the positions in the document.
type program struct {
	source     string
	isFragment bool
}

// programs returns the file, the fragment or the two fragments that a block is.
func (b block) programs() []program {
	isFile := func(line string) bool { return strings.HasPrefix(line, "package ") }
	if slices.ContainsFunc(b.lines, isFile) {
		var file section
		for i, line := range b.lines {
			file.add(b, i, line)
		}
		return []program{{file.String(), false}}
	}
	if !slices.ContainsFunc(b.lines, func(line string) bool { return strings.HasPrefix(line, "// after") }) {
		return []program{b.fragment("")}
	}
	return []program{b.fragment("before"), b.fragment("after")}
}

// fragment returns a file with the lines of a fragment. If part is "before" or "after", it leaves
// out the lines of the other part.
func (b block) fragment(part string) program {
	var imports, declared, statements section
	known := packages(part == "before")
	to, current := &statements, part
	for i, line := range b.lines {
		if next, ok := partOf(line); ok {
			current = next
		}
		switch {
		case current != part && current != "in both":
			continue
		case strings.HasPrefix(line, "import "):
			delete(known, importName(line))
			imports.add(b, i, line)
			continue
		case strings.HasPrefix(line, "func "), strings.HasPrefix(line, "type "):
			to = &declared
		}
		to.add(b, i, line)
		if line == "}" || strings.HasPrefix(line, "type ") && strings.Contains(line, " = ") {
			to = &statements
		}
	}
	source := "package document\n"
	for _, name := range slices.Sorted(maps.Keys(known)) {
		source += fmt.Sprintf("import %s %q\n", name, known[name])
	}
	source += imports.String() + declared.String() +
		"func _(" + variables + ") (_ error) {\n{\n" + statements.String() + "}\nreturn nil\n}\n"
	return program{source, true}
}

// partOf returns the part that a line begins.
func partOf(line string) (part string, ok bool) {
	for _, part := range []string{"before", "after", "in both"} {
		if strings.HasPrefix(line, "// "+part) {
			return part, true
		}
	}
	return "", false
}

// section is a part of a file, whose lines keep their positions in the document.
type section struct {
	strings.Builder
	next int // the position of the next line, if it follows the last one
}

// add adds the line of a block that has an index.
func (s *section) add(b block, index int, line string) {
	number := b.line + index
	if number != s.next {
		fmt.Fprintf(s, "//line %s:%d\n", b.document, number)
	}
	s.next = number + 1
	fmt.Fprintln(s, line)
}
