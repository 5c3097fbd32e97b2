// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// scripted returns an experiment whose sides return the figures of the script, one a round. It
// records the order in which the sides are measured.
func scripted(measured *[]string, goal Goal, sides []string, script map[string][]float64) Experiment {
	return Experiment{
		Row: "scripted", Setup: "a script", Metrics: []Metric{{Unit: "ns", Goal: goal}}, Sides: sides,
		Prepare: func() ([]Measure, error) {
			var measures []Measure
			for _, side := range sides {
				round := 0
				measures = append(measures, func() ([]float64, error) {
					*measured = append(*measured, side)
					round++
					return []float64{script[side][round-1]}, nil
				})
			}
			return measures, nil
		},
	}
}

func TestRunAlternatesTheSides(t *testing.T) {
	var measured []string
	e := scripted(&measured, Goal{}, []string{"ours", "theirs"}, map[string][]float64{"ours": {3, 1, 2}, "theirs": {30, 10, 20}})
	result, err := Run(e, 3)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"ours", "theirs", "theirs", "ours", "ours", "theirs"}; !slices.Equal(measured, want) {
		t.Errorf("measured %v, want %v", measured, want)
	}
	if ours, spread, ratio := result.Best(0, 0), result.Spread(0, 0), result.Ratio(0); ours != 1 || spread != 3 || ratio != 0.1 {
		t.Errorf("best figure %v, spread %v, ratio %v, want 1, 3, 0.1", ours, spread, ratio)
	}
}

func TestBestRateIsTheMaximum(t *testing.T) {
	var measured []string
	e := scripted(&measured, AtLeast(2), []string{"ours", "theirs"}, map[string][]float64{"ours": {3, 8}, "theirs": {4, 2}})
	e.Metrics[0].Unit = "1/s"
	if result, err := Run(e, 2); err != nil || result.Ratio(0) != 2 || result.Missed(0) {
		t.Errorf("ratio %v, missed %v, error %v, want 2", result.Ratio(0), result.Missed(0), err)
	}
}

func TestReferenceIsTheFirstOtherSideWithTheMetric(t *testing.T) {
	var measured []string
	e := scripted(&measured, AtMost(1), []string{"ours", "copies", "tree"}, map[string][]float64{"ours": {3}, "copies": {math.NaN()}, "tree": {6}})
	result, err := Run(e, 1)
	if err != nil {
		t.Fatal(err)
	}
	if reference, ratio := result.Reference(0), result.Ratio(0); reference != 2 || ratio != 0.5 {
		t.Errorf("reference %v, ratio %v, want 2, 0.5", reference, ratio)
	}
}

func TestMaxRoundsLimitsTheRounds(t *testing.T) {
	var measured []string
	e := scripted(&measured, Goal{}, []string{"ours"}, map[string][]float64{"ours": {1}})
	e.MaxRounds = 1
	if _, err := Run(e, 5); err != nil || len(measured) != 1 {
		t.Errorf("measured %d times, error %v, want once", len(measured), err)
	}
}

func TestRunNamesTheSideThatFailed(t *testing.T) {
	cause := errors.New("no luck")
	fails := func(measures []Measure, err error) Experiment {
		return Experiment{
			Row: "failing", Setup: "a failure", Metrics: make([]Metric, 1), Sides: []string{"ours", "theirs"},
			Prepare: func() ([]Measure, error) { return measures, err },
		}
	}
	succeeds := func() ([]float64, error) { return []float64{1}, nil }
	for name, test := range map[string]struct {
		experiment Experiment
		want       string
		is         error
	}{
		"Prepare":         {fails(nil, cause), "failing, a failure: no luck", cause},
		"a side":          {fails([]Measure{succeeds, func() ([]float64, error) { return nil, cause }}, nil), "failing, a failure: theirs: no luck", cause},
		"a side missing":  {fails([]Measure{succeeds}, nil), "failing, a failure: 2 sides, but 1 measures", nil},
		"too few figures": {fails([]Measure{func() ([]float64, error) { return nil, nil }, succeeds}, nil), "failing, a failure: ours: 0 figures for 1 metrics", nil},
	} {
		if _, err := Run(test.experiment, 1); err == nil || err.Error() != test.want || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: error %q, want %q", name, err, test.want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		figures []float64
		want    float64
	}{{[]float64{5}, 5}, {[]float64{9, 1, 5}, 5}, {[]float64{1, 9, 3, 5}, 4}} {
		before := slices.Clone(test.figures)
		if got := Median(test.figures); got != test.want || !slices.Equal(before, test.figures) {
			t.Errorf("Median(%v) = %v, want %v and the figures unchanged", before, got, test.want)
		}
	}
}

func TestGoals(t *testing.T) {
	for _, test := range []struct {
		goal            Goal
		ours, reference float64
		text            string
		met             bool
	}{
		{AtLeast(100), 8900, 89, "≥ 100x", true},
		{AtLeast(100), 8899, 89, "≥ 100x", false},
		{AtMost(1), 117, 117, "≤ 1x", true},
		{AtMost(0.5), 117, 117, "≤ 0.5x", false},
		{Within(0.4, "µs"), 0.4, math.NaN(), "≤ 0.4 µs", true},
		{Within(0.4, "µs"), 0.41, math.NaN(), "≤ 0.4 µs", false},
		{AtMostMore(100, "ms"), 101, 1, "≤ + 100 ms", true},
		{AtMostMore(100, "ms"), 102, 1, "≤ + 100 ms", false},
	} {
		if met := test.goal.met(test.ours, test.reference); met != test.met || test.goal.text != test.text {
			t.Errorf("%s for %v and %v: met %v, want %s and %v", test.goal.text, test.ours, test.reference, met, test.text, test.met)
		}
	}
}

func TestNumbers(t *testing.T) {
	for f, want := range map[float64]string{
		0.1234: "0.123", 1.234: "1.23", 12.34: "12.3", 123.4: "123", 1234567: "1234567", 20: "20",
	} {
		if got := number(f); got != want {
			t.Errorf("number(%v) = %q, want %q", f, got, want)
		}
	}
}

func TestRunCallsClose(t *testing.T) {
	var measured []string
	cause, closed := errors.New("cannot close"), 0
	e := scripted(&measured, Goal{}, []string{"ours"}, map[string][]float64{"ours": {1}})
	e.Close = func() error { closed++; return cause }
	if _, err := Run(e, 1); !errors.Is(err, cause) || closed != 1 {
		t.Errorf("closed %d times, error %v, want once and %v", closed, err, cause)
	}
}

// results measures three experiments: with a third side, with one side, and with sides of other
// names.
func results(t *testing.T) (results []Result) {
	t.Helper()
	var measured []string
	pair := scripted(&measured, AtMost(1), []string{"ours", "client-go", "more"}, map[string][]float64{"ours": {1, 2, 3}, "client-go": {10, 12, 14}, "more": {4, 4, 4}})
	pair.Metrics[0].Row, pair.Metrics[0].Name = "pair", "time"
	alone := scripted(&measured, Within(1, "ns").MissedBecause("It is slow."), []string{"ours"}, map[string][]float64{"ours": {7}})
	other := scripted(&measured, AtLeast(1), []string{"map", "tree"}, map[string][]float64{"map": {7}, "tree": {14}})
	again := scripted(&measured, Goal{}, []string{"ours", "client-go"}, map[string][]float64{"ours": {1, 1.2}, "client-go": {2, 2}})
	alone.MaxRounds, other.MaxRounds, again.MaxRounds = 1, 1, 2
	again.Metrics[0].Row, other.Metrics[0].Detail = "pair", true
	for _, e := range []Experiment{pair, alone, other, again} {
		result, err := Run(e, 3)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, result)
	}
	return results
}

func TestSummary(t *testing.T) {
	want := strings.TrimLeft(`
| row      | measurement    | ratio | spread                     | rounds | goal               |
| -------- | -------------- | ----- | -------------------------- | ------ | ------------------ |
| pair     | a script: time | 0.1x  | 3.00x, 1.40x, **unstable** | 3      | ≤ 1x               |
| pair     | a script       | 0.5x  | 1.20x, 1.00x               | 2      |                    |
| scripted | a script       | 7 ns  | –                          | 1      | **missed**: ≤ 1 ns |

Missed goals:

- It is slow.
  *scripted*, a script 7 ns
- The reason is not known.
  *scripted*, a script 0.5x
`, "\n")
	if got := Summary(results(t)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWriteCSV(t *testing.T) {
	const want = `row,measurement,unit,goal,side,rounds,minimum,median,maximum,machine
pair,a script: time,ns,≤ 1x,ours,3,1,2,3,"two, three"
pair,a script: time,ns,≤ 1x,client-go,3,10,12,14,"two, three"
pair,a script: time,ns,≤ 1x,more,3,4,4,4,"two, three"
`
	var out bytes.Buffer
	if err := WriteCSV(&out, results(t)[:1], "two, three"); err != nil || out.String() != want {
		t.Errorf("got\n%s%v, want\n%s", &out, err, want)
	}
}

func TestReadCSVReturnsTheWrittenFigures(t *testing.T) {
	want := results(t)
	var experiments []Experiment
	for _, r := range want {
		experiments = append(experiments, r.Experiment)
	}
	var text bytes.Buffer
	if err := WriteCSV(&text, want, "a machine"); err != nil {
		t.Fatal(err)
	}
	got, err := ReadCSV(strings.NewReader(text.String()), experiments)
	if err != nil || Summary(got) != Summary(want) {
		t.Errorf("got\n%s%v, want\n%s", Summary(got), err, Summary(want))
	}
	for figure, want := range map[string]string{",3,1,2,3,": `row "pair", "a script: time" of "ours"`, ",3,10,": `of "client-go"`} {
		broken := strings.Replace(text.String(), figure, ",x"+figure[1:], 1)
		if _, err := ReadCSV(strings.NewReader(broken), experiments); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is broken: error %v, want %s", figure, err, want)
		}
	}
}
