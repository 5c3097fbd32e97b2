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
	if ours, reference, ratio := result.Median(0, 0), result.Reference(0), result.Ratio(0); ours != 2 || reference != 20 || ratio != 0.1 {
		t.Errorf("medians %v and %v, ratio %v, want 2, 20, 0.1", ours, reference, ratio)
	}
}

func TestReferenceIsTheFirstOtherSideWithTheMetric(t *testing.T) {
	var measured []string
	e := scripted(&measured, AtMost(1), []string{"ours", "copies", "tree"}, map[string][]float64{"ours": {3}, "copies": {nan}, "tree": {6}})
	result, err := Run(e, 1)
	if err != nil {
		t.Fatal(err)
	}
	if reference, ratio := result.Reference(0), result.Ratio(0); reference != 6 || ratio != 0.5 {
		t.Errorf("reference %v, ratio %v, want 6, 0.5", reference, ratio)
	}
}

func TestRoundsOfTheExperimentTakePrecedence(t *testing.T) {
	var measured []string
	e := scripted(&measured, Goal{}, []string{"ours"}, map[string][]float64{"ours": {1}})
	e.Rounds = 1
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
	if !math.IsNaN(Median(nil)) {
		t.Error("the median of no figures is a number")
	}
}

func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		goal            Goal
		ours, reference float64
		text, want      string
	}{
		{AtLeast(100), 8900, 89, "≥ 100x", "met"},
		{AtLeast(100), 8899, 89, "≥ 100x", "NOT MET"},
		{AtLeast(1000), 1, nan, "≥ 1,000x", "NOT MET"},
		{AtLeast(1), 7, 0, "≥ 1x", "unclear"},
		{AtMost(1), 117, 117, "≤ 1x", "met"},
		{AtMost(0.5), 117, 117, "≤ 0.5x", "NOT MET"},
		{Within(0.4, "µs"), 0.4, nan, "≤ 0.4 µs", "met"},
		{Within(0.4, "µs"), 0.41, nan, "≤ 0.4 µs", "NOT MET"},
		{Goal{}, 1, 1, "–", "–"},
	} {
		if got := test.goal.Verdict(test.ours, test.reference); got != test.want || test.goal.String() != test.text {
			t.Errorf("%v for %v and %v: %s, want %s: %s", test.goal, test.ours, test.reference, got, test.text, test.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for f, want := range map[float64]string{
		0.1234: "0.123", 1.234: "1.23", 12.34: "12.3", 123.4: "123", 1234567: "1,234,567", 20: "20", -1234: "-1,234", math.Inf(1): "∞",
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

func TestWriteTable(t *testing.T) {
	var measured []string
	pair := scripted(&measured, AtMost(1), []string{"ours", "theirs", "more"}, map[string][]float64{"ours": {1, 2, 3}, "theirs": {10, 20, 30}, "more": {4, 4, 4}})
	pair.Metrics[0].Row = "pair"
	alone := scripted(&measured, Within(1, "ns"), []string{"ours"}, map[string][]float64{"ours": {7}})
	other := scripted(&measured, Goal{}, []string{"map", "tree"}, map[string][]float64{"map": {7}, "tree": {14}})
	alone.Rounds, other.Rounds = 1, 1
	var results []Result
	for _, e := range []Experiment{pair, alone, other} {
		result, err := Run(e, 3)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, result)
	}
	var out bytes.Buffer
	if err := WriteTable(&out, results); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimLeft(`
| row      | measurement | unit | ours    | theirs     | ratio | goal   | result  | other sides |
| -------- | ----------- | ---- | ------- | ---------- | ----- | ------ | ------- | --- |
| pair     | a script    | ns   | 2 (1–3) | 20 (10–30) | 0.1x  | ≤ 1x   | met     | more: 4 (4–4) |
| scripted | a script    | ns   | 7       | –          | –     | ≤ 1 ns | NOT MET |     |
| scripted | a script    | ns   | map: 7  | tree: 14   | 0.5x  | –      | –       |     |

`, "\n")
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
