// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"testing"
	"time"
)

func TestCPUCountsWork(t *testing.T) {
	before, x := CPU(), uint64(1)
	for deadline := time.Now().Add(time.Minute); CPU()-before < 5*time.Millisecond; {
		for range 1000 {
			x = x*6364136223846793005 + 1
		}
		if time.Now().After(deadline) {
			t.Fatalf("CPU counted %v in a minute of work, want 5ms at least (%d)", CPU()-before, x)
		}
	}
}
