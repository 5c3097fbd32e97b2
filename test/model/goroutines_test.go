// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// library is a function of the product: internal/testing, where the server of the model stands, is
// left out.
var library = regexp.MustCompile(`(?m)^github\.com/kinformer/kinformer/(cache|clientgo|internal/(?:[^t]|t[^e]))`)

// userFrames are in the stacks of goroutines that are inside a function of the program.
var userFrames = []string{"model_test.(*recorder)", "model_test.(*functions)"}

// checkGoroutines checks that after Run each goroutine of the informer is inside a function of the
// program.
func (x *execution) checkGoroutines() {
	if !x.isBusy() {
		return // the bubble checks that no goroutine is left
	}
	x.checked("goroutines")
	for _, stack := range cachetest.BubbleGoroutines()[1:] {
		if library.MatchString(stack) && !isInside(stack) {
			x.fail("goroutines", "after Run:\n%s", stack)
		}
	}
}

func isInside(stack string) bool {
	return slices.ContainsFunc(userFrames, func(frame string) bool { return strings.Contains(stack, frame) })
}
