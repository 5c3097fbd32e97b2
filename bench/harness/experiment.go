package harness

import "math"

// Experiment is one situation and who is put into it.
type Experiment struct {
	Name    string // of the row, such as "P5"
	What    string // the situation, in a few words
	Metrics []Metric
	// Sides names who is measured: ours first, then with whom it is compared. Where
	// the second does not have a figure the next one counts.
	Sides []string
	// Prepare makes what all rounds share, and returns a Measure for each side.
	// What it made is garbage once the experiment is over.
	Prepare func() ([]Measure, error)
	// Close, if not nil, ends what Prepare has started.
	Close func() error
	// Rounds is how often each side is measured. Zero is what Run was told.
	Rounds int
}

// Measure does the job once and returns a figure for each of the experiment's
// metrics, NaN for one that this side does not have. The heap has been collected
// before.
type Measure func() ([]float64, error)

// Metric is one figure of an experiment.
type Metric struct {
	Name string // of the row; empty: the experiment's
	What string // what is counted; empty where the experiment's What says it
	Unit string
	Goal Goal // the zero Goal is none
}

// Result is what an experiment has measured.
type Result struct {
	Experiment
	// Samples are the figures by metric, side and round.
	Samples [][][]float64
}

// Median returns the median over the rounds of a metric of a side.
func (r Result) Median(metric, side int) float64 { return Median(r.Samples[metric][side]) }

// Theirs returns the median of the first of the other sides that has the figure,
// NaN if none does.
func (r Result) Theirs(metric int) float64 {
	for side := 1; side < len(r.Sides); side++ {
		if median := r.Median(metric, side); !math.IsNaN(median) {
			return median
		}
	}
	return nan
}

// RowName returns the name of a metric's row.
func (e Experiment) RowName(metric int) string {
	if name := e.Metrics[metric].Name; name != "" {
		return name
	}
	return e.Name
}

// Ratio returns ours divided by theirs.
func (r Result) Ratio(metric int) float64 { return r.Median(metric, 0) / r.Theirs(metric) }
