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

// TestMain makes the test's program one that can be its own child.
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

// smallScale is enough to see that each row does what it says.
func smallScale() Scale {
	return Scale{Window: 20 * time.Millisecond, Listed: 50, Keys: 500, Gets: 4000, Events: 300, Updates: 15_000, Late: 500, Entries: []int{200}, Synced: 100, Million: 2000}
}

func TestEveryRowRunsAndEnds(t *testing.T) {
	for _, e := range In(smallScale(), Groups()...) {
		result, err := harness.Run(e, 2)
		if err != nil {
			t.Error(err)
			continue
		}
		for metric, sides := range result.Samples {
			if f := result.Median(metric, 0); math.IsNaN(f) || f < 0 {
				t.Errorf("%s, %s: %s is %v", e.Name, e.What, e.Metrics[metric].What, f)
			}
			if len(sides) != len(e.Sides) {
				t.Errorf("%s, %s: figures of %d sides, want %d", e.Name, e.What, len(sides), len(e.Sides))
			}
		}
	}
}
