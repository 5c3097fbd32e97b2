// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package documents checks the Go code in README.md and docs/*.md. It is in this module, which
// requires what the code imports.
//
// A block of Go that begins with a package clause is a file. Any other block is a fragment:
// imports, types and functions of a file, and statements of a function. A fragment with a line "//
// before" and a line "// after" is two fragments, and lines that follow "// in both" belong to each
// of them.
//
// A fragment need not import or declare what all documents use: the packages and variables in
// preamble_test.go. It may leave variables, imports and values unused. There is no way to exempt a
// block from being checked.
package documents
