// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/fields"
)

// TestEveryFieldIsExportedOrNot changes each field of each Status alone, and compares the metrics.
// Those without a metric are names, which are labels, errors and what has no bound.
func TestEveryFieldIsExportedOrNot(t *testing.T) {
	expectExported(t, func(out output, status cache.Status) {
		collectInformer(out, status, func() map[string]int { return map[string]int{"1": 1} })
	}, `Name Err ErrSince Store.QuarantinedKeys Store.OmitFieldsNotFound Requests.RecentEvents`)
	expectExported(t, func(out output, status cache.HandlerStatus) { collectHandler(out, &status) }, `Name CurrentKey`)
	expectExported(t, collectFollower, `Err Requests Definitions`)
	expectExported(t, collectMember, `Running Incarnation Slots Peers StaleSince Err`)
}

// expectExported checks that the metrics of a status depend on every field except those listed.
func expectExported[S any](t *testing.T, collect func(output, S), unlisted string) {
	var zero, all S
	fields.SetAll(&all)
	for _, path := range fields.Leaves(reflect.TypeFor[S]()) {
		one, others := zero, all
		fields.Set(&one, path)
		fields.Of(&others, path).SetZero()
		isExported := metricsOf(collect, one) != metricsOf(collect, zero) || metricsOf(collect, others) != metricsOf(collect, all)
		if isExported == slices.Contains(strings.Fields(unlisted), path) {
			t.Errorf("%T.%s: exported: %v", zero, path, isExported)
		}
	}
}

// metricsOf returns the metrics of a status as a text.
func metricsOf[S any](collect func(output, S), status S) string {
	metrics := make(chan prometheus.Metric, 1000)
	collect(output{metrics: metrics}, status)
	close(metrics)
	var lines []string
	for metric := range metrics {
		var value dto.Metric
		if err := metric.Write(&value); err != nil {
			return err.Error()
		}
		lines = append(lines, fmt.Sprint(metric.Desc(), value.String()))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
