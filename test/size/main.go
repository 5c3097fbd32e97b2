// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command size prints what a program compiles of kinformer if it imports package cache or clientgo:
// each package with its files and lines, and what it is for, which is the first sentence of its
// documentation, and the totals. docs/adopting.md has the totals, which a test compares.
//
//	make size                                   # prints the tables
//	make size ARGS="-write ../docs/adopting.md" # writes the totals
//
// The command runs in the folder of module test, as go -C test run ./size does.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
)

func main() {
	write := flag.String("write", "", "replace the totals in this Markdown file")
	flag.Parse()
	if err := run(context.Background(), *write); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, document string) error {
	m, err := measure(ctx, "..")
	if err != nil {
		return err
	}
	if document == "" {
		fmt.Print(m.packageTable(), m.totals())
		return nil
	}
	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	before, _, after, err := cut(string(text))
	if err != nil {
		return fmt.Errorf("write table to %s: %w", document, err)
	}
	return os.WriteFile(document, []byte(before+m.totals()+after), 0o600) // an existing file keeps its mode
}
