// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/harness"
)

// TestMain lets the test program run as its own child process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == child.Arg {
		if err := child.Main(os.Args[2:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// smallScale is large enough for every row to work.
func smallScale() Scale {
	return Scale{
		Window: 20 * time.Millisecond, Idle: 50 * time.Millisecond, Listed: 50, Keys: 500, Gets: 4000, Events: 300, Updates: 15_000, Informed: 500,
		StoreSizes: []int{200}, Pods: 100, MillionPods: 2000, Namespaces: 10, SmallSizes: []int{2, 200}, ShardedPods: 200, PartialPods: 200,
	}
}

func TestEveryRowRuns(t *testing.T) {
	for _, e := range In(smallScale(), Groups()...) {
		result, err := harness.Run(e, 2)
		if err != nil {
			t.Error(err)
			continue
		}
		for metric, sides := range result.Samples {
			if f := result.Median(metric, 0); math.IsNaN(f) || f < 0 {
				t.Errorf("%s, %s: %s is %v", e.Row, e.Setup, e.Metrics[metric].Name, f)
			}
			if len(sides) != len(e.Sides) {
				t.Errorf("%s, %s: figures of %d sides, want %d", e.Row, e.Setup, len(sides), len(e.Sides))
			}
		}
	}
}
