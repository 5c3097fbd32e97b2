// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"regexp"
	"runtime"
	"strings"
)

var (
	bubble = regexp.MustCompile(`synctest bubble \d+`)
	// library is a function of the product: internal/testing, where the server of the model stands, is
	// left out.
	library = regexp.MustCompile(`(?m)^github\.com/kinformer/kinformer/(cache|clientgo|internal/(?:[^t]|t[^e]))`)
)

// userFrames are in the stacks of goroutines that are inside a function of the program.
var userFrames = []string{"model_test.(*recorder)", "model_test.(*functions)"}

// checkGoroutines checks that after Run each goroutine of the informer is inside a function of the
// program.
func (x *execution) checkGoroutines() {
	if !x.isBusy() {
		return // the bubble checks that no goroutine is left
	}
	x.checked("goroutines")
	stacks := strings.Split(allStacks(), "\n\n")
	own := bubble.FindString(stacks[0])
	for _, stack := range stacks[1:] {
		if bubble.FindString(stack) == own && library.MatchString(stack) && !isInside(stack) {
			x.fail("goroutines", "after Run:\n%s", stack)
		}
	}
}

func isInside(stack string) bool {
	for _, frame := range userFrames {
		if strings.Contains(stack, frame) {
			return true
		}
	}
	return false
}

// allStacks returns the stacks of all goroutines, that of the caller first.
func allStacks() string {
	stacks := make([]byte, 64<<10)
	for {
		n := runtime.Stack(stacks, true)
		if n < len(stacks) {
			return string(stacks[:n])
		}
		stacks = make([]byte, 2*len(stacks))
	}
}
