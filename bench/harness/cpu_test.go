package harness

import (
	"testing"
	"time"
)

func TestCPUCountsWork(t *testing.T) {
	before, x := CPU(), uint64(1)
	for deadline := time.Now().Add(10 * time.Second); CPU()-before < 5*time.Millisecond; {
		for range 1000 {
			x = x*6364136223846793005 + 1
		}
		if time.Now().After(deadline) {
			t.Fatalf("ten seconds of work took %v of processor time, says CPU (%d)", CPU()-before, x)
		}
	}
}
