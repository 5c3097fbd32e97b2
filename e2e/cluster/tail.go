// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"strings"
)

// tailLines is the number of lines of a log that are shown in a test's output.
const tailLines = 25

// tail returns the last lines of a log, each truncated to a readable length: kube-apiserver writes
// a stack trace as one line.
func tail(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Sprintf("(cannot be read: %v)", err)
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		if len(line) > 400 {
			lines[i] = line[:400] + " ..."
		}
	}
	return strings.Join(lines, "\n")
}
