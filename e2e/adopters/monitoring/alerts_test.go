// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// TestAlertsFire evaluates each alert once a minute for an hour, on series that make it fire and on
// series that must not. A value "0x60" is 61 samples, one a minute.
func TestAlertsFire(t *testing.T) {
	for _, c := range []struct {
		alert, series string
		from          int // the minute at which the alert fires first; 0 if it does not
		until         int // the last minute at which it fires
	}{
		{"KinformerInvalid", `kinformer_phase{informer="a",phase="Invalid"} 1x60`, 1, 60},

		{"KinformerNotSynced", `kinformer_synced{informer="a"} 0x60`, 10, 60},
		{"KinformerNotSynced", `kinformer_synced{informer="a"} 0x20 1x40`, 10, 20},
		{"KinformerNotSynced", `kinformer_synced{informer="a"} 0x8 1x52`, 0, 0},
		{"KinformerNotSynced", "kinformer_synced{informer=\"a\"} 0x60\nkinformer_phase{informer=\"a\",phase=\"Idle\"} 1x60", 0, 0},
		{"KinformerNotSynced", "kinformer_synced{informer=\"a\"} 0x60\nkinformer_phase{informer=\"a\",phase=\"Listing\"} 1x60", 10, 60},

		{"KinformerStale", `kinformer_staleness_seconds{informer="a"} 0+60x60`, 11, 60},
		{"KinformerStale", `kinformer_staleness_seconds{informer="a"} 61x60`, 0, 0},

		{"KinformerFailing", `kinformer_phase{informer="a",phase="Retrying"} 1x60`, 10, 60},
		{"KinformerFailing", `kinformer_phase{informer="a",phase="Retrying"} 1 _ 1 _x57`, 0, 0},
		{"KinformerFailing", `kinformer_phase{informer="a",phase="Retrying"} ` + strings.Repeat("1 _ _ ", 20) + "_", 10, 60},
		{"KinformerFailing", `kinformer_phase{informer="a",phase="Watching"} 1x60`, 0, 0},

		{"KinformerRequestErrors", `kinformer_failed_requests_total{informer="a"} 0+2x60`, 11, 60},
		{"KinformerRequestErrors", `kinformer_failed_requests_total{informer="a"} 0 20x59`, 6, 14},
		{"KinformerRequestErrors", `kinformer_failed_requests_total{informer="a"} 1x20 9x40`, 0, 0},

		{"KinformerRelistStorm", `kinformer_relists_total{informer="a"} 0+1x60`, 11, 60},
		{"KinformerRelistStorm", `kinformer_relists_total{informer="a"} 0 10x59`, 6, 14},
		{"KinformerRelistStorm", `kinformer_relists_total{informer="a"} 0x20 1x40`, 0, 0},

		{"KinformerHandlerBehind", `kinformer_handler_lag_seconds{informer="a",handler="h"} 0+60x60`, 16, 60},
		{"KinformerHandlerBehind", `kinformer_handler_lag_seconds{informer="a",handler="h"} 0x10 400x8 0x42`, 0, 0},
		{"KinformerHandlerBehind", "kinformer_handler_lag_seconds{informer=\"a\",handler=\"h\"} 0+60x60\n" +
			`kinformer_handler_current_call_seconds{informer="a",handler="h"} 0+60x60`, 0, 0}, // it is blocked

		{"KinformerHandlerBlocked", `kinformer_handler_current_call_seconds{informer="a",handler="h"} 0+60x60`, 11, 60},
		{"KinformerHandlerBlocked", `kinformer_handler_current_call_seconds{informer="a",handler="h"} 0x10 400x4 0x46`, 0, 0},

		{"KinformerObjectsNotStored", `kinformer_not_stored_objects{informer="a"} 1x60`, 15, 60},
		{"KinformerObjectsNotStored", `kinformer_not_stored_objects{informer="a"} 0x60`, 0, 0},

		{"KinformerIndexFails", `kinformer_index_errors_total{informer="a",index="node"} 0x20 1x40`, 21, 34},
		{"KinformerIndexFails", `kinformer_index_errors_total{informer="a",index="node"} _x10 7x50`, 10, 23}, // before the first scrape
		{"KinformerIndexFails", `kinformer_index_errors_total{informer="a",index="node"} 0x60`, 0, 0},

		{"KinformerDiscoveryFails", `kinformer_discovery_requests_total{informer="a",result="Failed"} 0x20 1+1x40`, 31, 60},
		{"KinformerDiscoveryFails", `kinformer_discovery_requests_total{informer="a",result="Failed"} _x10 7x50`, 15, 23}, // before the first scrape
		{"KinformerDiscoveryFails", `kinformer_discovery_requests_total{informer="a",result="Failed"} 0x20 5x40`, 0, 0},
		{"KinformerDiscoveryFails", `kinformer_discovery_requests_total{informer="a",result="Unchanged"} 0+1x60`, 0, 0},

		{"KinformerShardSlotsExpired", `kinformer_shard_taken_slots_total{group="g",member="a",reason="Expired"} 0x20 11x40`, 21, 24},
		{"KinformerShardSlotsExpired", `kinformer_shard_taken_slots_total{group="g",member="a",reason="Expired"} _x10 32x50`, 10, 13},
		{"KinformerShardSlotsExpired", `kinformer_shard_taken_slots_total{group="g",member="a",reason="Released"} 0x20 11x40`, 0, 0},

		{"KinformerShardSlotsFree", `kinformer_shard_free_slots{group="g",member="a"} 0x20 32x40`, 22, 60},
		{"KinformerShardSlotsFree", `kinformer_shard_free_slots{group="g",member="a"} 0x20 3 0x39`, 0, 0},
		{"KinformerShardSlotsFree", "kinformer_shard_free_slots{group=\"g\",member=\"a\"} 0x60\n" +
			"kinformer_shard_free_slots{group=\"g\",member=\"b\"} 32x60", 0, 0}, // b cannot reach the API server

		{"KinformerShardRenewalFails", "kinformer_shard_renewal_age_seconds{group=\"g\",member=\"a\"} 0+1x60\n" +
			"kinformer_shard_renew_deadline_seconds{group=\"g\",member=\"a\"} 10x60", 12, 60},
	} {
		from, until := fires(t, c.alert, c.series)
		if from != c.from || until != c.until {
			t.Errorf("%s fires in the minutes %d to %d, want %d to %d, with %s", c.alert, from, until, c.from, c.until, c.series)
		}
	}
}

// fires returns the first and the last minute at which an alert fires.
func fires(t *testing.T, alert, series string) (from, until int) {
	t.Helper()
	loaded := load(t, series)
	engine := newEngine()
	rule := alertNamed(t, alert)
	since := -1
	for minute := range 61 {
		switch active := loaded.matches(t, engine, rule.Expr, time.Unix(int64(minute)*60, 0)); {
		case !active:
			since = -1
			continue
		case since < 0:
			since = minute
		}
		if time.Duration(minute-since)*time.Minute < time.Duration(rule.For) {
			continue
		}
		if from == 0 {
			from = minute
		}
		until = minute
	}
	return from, until
}

func alertNamed(t *testing.T, name string) rulefmt.Rule {
	t.Helper()
	for _, rule := range parseAlerts(t) {
		if rule.Alert == name {
			return rule
		}
	}
	t.Fatalf("no alert %s", name)
	return rulefmt.Rule{}
}

// samples are series.
type samples []promql.Series

// load parses one series in each line, in promtool's notation.
func load(t *testing.T, lines string) (loaded samples) {
	t.Helper()
	for line := range strings.Lines(lines) {
		name, values, err := newParser().ParseSeriesDesc(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		series := promql.Series{Metric: name}
		for minute, value := range values {
			series.Floats = append(series.Floats, promql.FPoint{T: int64(minute) * 60_000, F: value.Value})
		}
		loaded = append(loaded, series)
	}
	return loaded
}

func newEngine() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000, Timeout: time.Minute, Parser: newParser()})
}

// matches reports whether an expression has a result at a time.
func (s samples) matches(t *testing.T, engine *promql.Engine, expression string, at time.Time) bool {
	t.Helper()
	queryable := &storage.MockQueryable{MockQuerier: &storage.MockQuerier{SelectMockFunction: s.query}}
	query, err := engine.NewInstantQuery(t.Context(), queryable, nil, expression, at)
	if err != nil {
		t.Fatal(err)
	}
	defer query.Close()
	result, err := query.Exec(t.Context()).Vector()
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return len(result) > 0
}

// query returns the series that match.
func (s samples) query(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &seriesSet{}
	for _, series := range s {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(series.Metric.Get(m.Name)) }) {
			found.following = append(found.following, series)
		}
	}
	return found
}

// seriesSet implements storage.SeriesSet.
type seriesSet struct {
	current   promql.Series
	following samples
}

// Next goes to the next series and reports whether there is one.
func (s *seriesSet) Next() bool {
	if len(s.following) == 0 {
		return false
	}
	s.current, s.following = s.following[0], s.following[1:]
	return true
}

// At returns the current series.
func (s *seriesSet) At() storage.Series { return promql.NewStorageSeries(s.current) }

// Err returns nil.
func (s *seriesSet) Err() error { return nil }

// Warnings returns nil.
func (s *seriesSet) Warnings() annotations.Annotations { return nil }
