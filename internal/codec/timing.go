// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"sync/atomic"
	"time"
)

// Timing measures how long decoding takes. It is safe for concurrent use. A nil Timing measures
// nothing.
type Timing struct {
	objects, nanoseconds atomic.Int64
}

// begin returns the time at which decoding an object begins.
func (t *Timing) begin() time.Time {
	if t == nil {
		return time.Time{}
	}
	return time.Now()
}

// end records that decoding of so many objects, which began at a time, has ended.
func (t *Timing) end(began time.Time, objects int64) {
	if t != nil {
		t.objects.Add(objects)
		t.nanoseconds.Add(int64(time.Since(began)))
	}
}

// Total returns the number of objects that were decoded, and how long that took.
func (t *Timing) Total() (objects uint64, took time.Duration) {
	if t == nil {
		return 0, 0
	}
	return uint64(t.objects.Load()), time.Duration(t.nanoseconds.Load())
}
