package rows

import (
	"math"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kinformer/kinformer/bench/harness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// smallScale is enough to see that each row does what it says.
func smallScale() Scale {
	return Scale{Window: 20 * time.Millisecond, Listed: 50, Keys: 500, Gets: 4000, Events: 300, Entries: []int{200}}
}

func TestEveryRowRunsAndEnds(t *testing.T) {
	for _, e := range Store(smallScale()) {
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
