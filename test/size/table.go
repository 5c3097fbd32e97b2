// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kinformer/kinformer/internal/units"
)

const (
	begin = "<!-- size -->\n"
	end   = "<!-- end of size -->\n"
)

// cut returns the table of a document, between two marks, and the text around it.
func cut(document string) (before, table, after string, err error) {
	before, rest, ok := strings.Cut(document, begin)
	table, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", "", "", fmt.Errorf("no lines %q and %q", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return before + begin, table, end + after, nil
}

// packageTable returns the table of packages, for people.
func (m measurement) packageTable() string {
	var b strings.Builder
	b.WriteString("\n| package | for | files | lines | of code |\n|---|---|---:|---:|---:|\n")
	for _, p := range m.packages {
		only := ""
		if len(p.users) < len(imported) {
			only = " (" + strings.Join(p.users, ", ") + " only)"
		}
		writeRow(&b, "`"+p.path+"`"+only+" | "+p.purpose, p.compiled)
	}
	return b.String()
}

// totals returns the table of the document: what each imported package compiles, and what go mod
// vendor copies for it.
func (m measurement) totals() string {
	var b strings.Builder
	b.WriteString("\n| | files | lines | of code |\n|---|---:|---:|---:|\n")
	for _, user := range imported {
		writeRow(&b, "compiled for `"+user+"`", m.sum(user, func(p pkg) size { return p.compiled }))
	}
	for _, user := range imported {
		vendored := m.licence.plus(m.sum(user, func(p pkg) size { return p.vendored }))
		writeRow(&b, "vendored for `"+user+"`, with the licence", vendored)
	}
	b.WriteString("\n")
	return b.String()
}

// sum adds up the packages that are compiled for an imported one.
func (m measurement) sum(user string, of func(pkg) size) (total size) {
	for _, p := range m.packages {
		if slices.Contains(p.users, user) {
			total = total.plus(of(p))
		}
	}
	return total
}

func writeRow(b *strings.Builder, name string, s size) {
	code := ""
	if s.code > 0 {
		code = units.Count(s.code)
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name, units.Count(s.files), units.Count(s.lines), code)
}
