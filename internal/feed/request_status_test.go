// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"reflect"
	"testing"

	"github.com/kinformer/kinformer/internal/testing/fields"
)

// TestEveryCountOfRequestsIsAdded adds each field to zero and to itself.
func TestEveryCountOfRequestsIsAdded(t *testing.T) {
	noCounts := map[string]bool{"Streaming": true, "NotStreamingReason": true}
	for _, path := range fields.Leaves(reflect.TypeFor[RequestStatus]()) {
		var one RequestStatus
		fields.Set(&one, path)
		sum, double := RequestStatus{}.Add(one), one.Add(one)
		value := func(s RequestStatus) any { return fields.Of(&s, path).Interface() }
		if !reflect.DeepEqual(value(sum), value(one)) || reflect.DeepEqual(value(double), value(one)) != noCounts[path] {
			t.Errorf("%s: 0 and %v are %v, twice that is %v", path, value(one), value(sum), value(double))
		}
	}
}

// TestIntervalsAreAddedFromTheLastOn adds the counts of a reflector to those of fewer intervals.
func TestIntervalsAreAddedFromTheLastOn(t *testing.T) {
	few, many := RequestStatus{RecentEvents: []uint32{1, 2}}, RequestStatus{RecentEvents: []uint32{10, 20, 30}}
	for _, sum := range []RequestStatus{few.Add(many), many.Add(few)} {
		if want := []uint32{10, 21, 32}; !reflect.DeepEqual(sum.RecentEvents, want) {
			t.Errorf("sum %v, want %v", sum.RecentEvents, want)
		}
	}
}
