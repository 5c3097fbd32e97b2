// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
)

// BubbleGoroutines returns the stacks of the goroutines of the current synctest bubble, that of the
// caller included, once all others are blocked.
func BubbleGoroutines(t *testing.T) []string {
	t.Helper()
	synctest.Wait()
	buffer := make([]byte, 8<<20)
	stacks := strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n")
	bubble := regexp.MustCompile(`synctest bubble \d+`).FindString(stacks[0])
	if bubble == "" {
		t.Fatalf("no bubble in %q", stacks[0])
	}
	var own []string
	for _, stack := range stacks {
		if header, _, _ := strings.Cut(stack, "\n"); strings.HasSuffix(header, bubble+"]:") {
			own = append(own, stack)
		}
	}
	return own
}
