// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"os"
	"strings"
)

// ReplaceSection replaces the text between two marks of a Markdown file:
//
//	<!-- bench: NAME -->
//	...
//	<!-- bench: end of NAME -->
//
// If a mark is missing, it returns an error and does not change the file.
func ReplaceSection(path, name, text string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := "<!-- bench: "+name+" -->\n", "<!-- bench: end of "+name+" -->\n"
	before, rest, ok := strings.Cut(string(content), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("write table to %s: no lines %q and %q", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(path, []byte(before+begin+"\n"+text+end+after), 0o600) // an existing file keeps its mode
}
