// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"encoding/json"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/kinformer/kinformer/metrics"
)

const (
	alertsFile    = "../../../metrics/alerts.yaml"
	dashboardFile = "../../../metrics/dashboard.json"
	document      = "../../../docs/observing.md"
)

func newParser() parser.Parser { return parser.NewParser(parser.Options{}) }

// parseAlerts parses the alerts as Prometheus does. It accepts no unknown field.
func parseAlerts(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(alertsFile, false, model.UTF8Validation, newParser(), slog.New(slog.DiscardHandler))
	if len(errs) > 0 || len(groups.Groups) != 1 {
		t.Fatalf("errors %v, groups %+v, want one group", errs, groups)
	}
	return groups.Groups[0].Rules
}

// TestAlertsLoad checks that Prometheus accepts the alerts, and that each says what to do.
func TestAlertsLoad(t *testing.T) {
	rules := parseAlerts(t)
	if len(rules) < 6 {
		t.Errorf("%d alerts", len(rules))
	}
	for _, rule := range rules {
		name := "$labels.informer"
		if strings.HasPrefix(rule.Alert, "KinformerShard") {
			name = "$labels.group"
		}
		if !strings.HasPrefix(rule.Alert, "Kinformer") || rule.Labels["severity"] == "" ||
			!strings.Contains(rule.Annotations["summary"], name) || len(rule.Annotations["description"]) < 100 {
			t.Errorf("alert %s lacks a name, a severity, a summary with the informer or group, or a description", rule.Alert)
		}
	}
}

// describe returns the labels of each metric that a collector describes.
func describe(t *testing.T) map[string][]string {
	t.Helper()
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		metrics.NewCollector().Describe(descs)
	}()
	pattern := regexp.MustCompile(`fqName: "(\w+)", .*variableLabels: \{([^}]*)\}`)
	described := map[string][]string{}
	for desc := range descs {
		found := pattern.FindStringSubmatch(desc.String())
		if found == nil {
			t.Fatalf("no name in %s", desc)
		}
		described[found[1]] = strings.Split(found[2], ",")
	}
	return described
}

// ofTargets are labels that Prometheus adds.
var ofTargets = []string{"job", "instance"}

// checkQuery checks that a query is PromQL of existing metrics and labels.
func checkQuery(t *testing.T, described map[string][]string, query string) {
	t.Helper()
	query = strings.ReplaceAll(query, "$__rate_interval", "5m")
	expr, err := newParser().ParseExpr(query)
	if err != nil {
		t.Errorf("%s: %v", query, err)
		return
	}
	known := slices.Clone(ofTargets)
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			checkSelector(t, described, query, selector)
			known = append(known, described[selector.Name]...)
		}
		return nil
	})
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		var used []string
		switch node := node.(type) {
		case *parser.AggregateExpr:
			used = node.Grouping
		case *parser.BinaryExpr:
			if node.VectorMatching != nil {
				used = append(slices.Clone(node.VectorMatching.MatchingLabels), node.VectorMatching.Include...)
			}
		}
		for _, label := range used {
			if !slices.Contains(known, label) {
				t.Errorf("%s: no metric has the label %s", query, label)
			}
		}
		return nil
	})
}

func checkSelector(t *testing.T, described map[string][]string, query string, selector *parser.VectorSelector) {
	t.Helper()
	names, ok := described[selector.Name]
	if !ok {
		t.Errorf("%s: no metric %s", query, selector.Name)
	}
	for _, matcher := range selector.LabelMatchers {
		if matcher.Name != labels.MetricName && !slices.Contains(append(names, ofTargets...), matcher.Name) {
			t.Errorf("%s: %s has no label %s", query, selector.Name, matcher.Name)
		}
	}
}

// TestQueriesFindBrokenOnes checks checkQuery itself.
func TestQueriesFindBrokenOnes(t *testing.T) {
	for _, query := range []string{"kinformer_objects >", "kinformer_pods", `kinformer_objects{handler="a"}`, "sum by (handler) (kinformer_objects)"} {
		if inner := (&testing.T{}); !failsQuery(inner, describe(t), query) {
			t.Errorf("%s is accepted", query)
		}
	}
}

func failsQuery(inner *testing.T, described map[string][]string, query string) bool {
	checkQuery(inner, described, query)
	return inner.Failed()
}

// TestQueriesOfAlerts checks the expressions of the alerts.
func TestQueriesOfAlerts(t *testing.T) {
	described := describe(t)
	for _, rule := range parseAlerts(t) {
		checkQuery(t, described, rule.Expr)
	}
}

// TestQueriesOfTheDocument checks the queries of docs/observing.md, and that its text names no
// metric that does not exist.
func TestQueriesOfTheDocument(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	described := describe(t)
	_, section, _ := strings.Cut(string(text), "### Queries")
	section, _, _ = strings.Cut(section, "###")
	queries := regexp.MustCompile("(?m)^\\|[^|`]*\\| `([^`]*)`").FindAllStringSubmatch(section, -1)
	if len(queries) < 10 {
		t.Errorf("%d queries", len(queries))
	}
	for _, query := range queries {
		checkQuery(t, described, query[1])
	}
	for _, name := range regexp.MustCompile(`\b(kinformer|reflector)_[a-z_]*[a-z]\b`).FindAllString(string(text), -1) {
		if _, ok := described[name]; !ok {
			t.Errorf("%s names %s, which does not exist", document, name)
		}
	}
}

// dashboard is what a dashboard of Grafana must have to be imported and read.
type dashboard struct {
	Title, UID    string
	SchemaVersion int
	Templating    struct {
		List []struct {
			Name, Type string
			Definition string
			Datasource source
		}
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               source
	GridPos                  struct{ X, Y, W, H int }
	Targets                  []struct {
		Expr       string
		Datasource source
	}
}

type source struct{ Type, UID string }

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDashboard checks that the dashboard can be imported, asks for its data source, and that its
// panels do not overlap and have a title and a description.
func TestDashboard(t *testing.T) {
	d := readDashboard(t)
	if d.Title == "" || d.UID == "" || d.SchemaVersion == 0 || len(d.Panels) < 15 {
		t.Errorf("title %q, uid %q, schema %d, %d panels", d.Title, d.UID, d.SchemaVersion, len(d.Panels))
	}
	if first := d.Templating.List[0]; first.Name != "datasource" || first.Type != "datasource" {
		t.Errorf("the first variable is %+v", first)
	}
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || p.Type != "row" && (p.Description == "" || len(p.Targets) == 0) {
			t.Errorf("panel %d %q has the ID of another one, or no title, description or query", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panel %q overlaps %q, or is too wide", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
	}
}

// TestQueriesOfTheDashboard checks the queries of panels and variables, and that all use the chosen
// data source.
func TestQueriesOfTheDashboard(t *testing.T) {
	d, described, chosen := readDashboard(t), describe(t), source{"prometheus", "${datasource}"}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			checkQuery(t, described, target.Expr)
			if target.Datasource != chosen || p.Datasource != chosen {
				t.Errorf("panel %q does not use the chosen data source", p.Title)
			}
		}
	}
	values := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
	for _, variable := range d.Templating.List[1:] {
		found := values.FindStringSubmatch(variable.Definition)
		if found == nil || variable.Datasource != chosen {
			t.Errorf("variable %+v", variable)
			continue
		}
		checkQuery(t, described, "count by ("+found[2]+") ("+found[1]+")")
	}
}
