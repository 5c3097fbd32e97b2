// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/kinformer/kinformer/examples/internal/program"
)

// TestProgram runs the example until both informers have delivered an update.
func TestProgram(t *testing.T) {
	p := program.Start(t)
	p.Expect("typed ", "Update", "default/gear is green, size 1")
	p.Expect("unstructured ", "Update", "default/gear is red")
	p.Stop()
}
