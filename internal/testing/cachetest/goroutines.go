// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"regexp"
	"runtime"
	"strings"
	"testing/synctest"
)

// BubbleGoroutines returns the stacks of the goroutines of the current synctest bubble, that of the
// caller included, once all others are blocked.
func BubbleGoroutines() []string {
	synctest.Wait()
	buffer := make([]byte, 8<<20)
	stacks := strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n")
	bubble := regexp.MustCompile(`synctest bubble \d+`).FindString(stacks[0])
	if bubble == "" {
		panic("not in a bubble")
	}
	var own []string
	for _, stack := range stacks {
		if header, _, _ := strings.Cut(stack, "\n"); strings.HasSuffix(header, bubble+"]:") {
			own = append(own, stack)
		}
	}
	return own
}
