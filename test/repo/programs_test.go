// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package repo_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// maxProgramsAge is the number of commits after which make e2e-programs must run again.
const maxProgramsAge = 300

// TestProgramsWereTestedRecently checks that the last result of make e2e-programs is not too old.
func TestProgramsWereTestedRecently(t *testing.T) {
	result, err := os.ReadFile("e2e/programs.txt")
	if err != nil {
		t.Fatal(err)
	}
	commit := regexp.MustCompile(`(?m)^commit ([0-9a-f]{40})$`).FindStringSubmatch(string(result))
	if commit == nil {
		t.Fatalf("e2e/programs.txt names no commit:\n%s", result)
	}
	out, err := exec.CommandContext(t.Context(), "git", "rev-list", "--count", commit[1]+"..HEAD").CombinedOutput()
	if err != nil {
		t.Fatalf("git: %v: %s\nThe test needs the history of the last %d commits.", err, out, maxProgramsAge)
	}
	age, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || age > maxProgramsAge {
		t.Errorf("make e2e-programs ran %d commits ago (%v), want at most %d: run it, and commit its result", age, err, maxProgramsAge)
	}
}
