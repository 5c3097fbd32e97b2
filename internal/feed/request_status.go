// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"cmp"
	"maps"
	"time"
)

// RequestStatus counts what is requested and received of a collection. The source counts Results,
// BytesRead and Decoded, and sets Streaming; each reflector counts the others. cache.RequestStatus
// has the same fields.
type RequestStatus struct {
	Lists, Watches     uint64
	WatchRestarts      uint64
	Relists            map[string]uint64 // by reason
	Received           int               // objects that the list in progress has sent; zero if there is none
	RecentEvents       []uint32          // events of watches by interval, the oldest first
	Results            map[Request]uint64
	Streaming          bool
	NotStreamingReason string
	BytesRead          uint64        // of the responses that were split, after decompression
	Decoded            uint64        // objects decoded from bytes, packed ones included
	DecodeTime         time.Duration // that this took, on all processors together
}

// Request is a kind of request and its result.
type Request struct {
	Verb string // "LIST" or "WATCH"
	// Code is the HTTP status code, or "<error>" if there was no response, as in client-go's
	// metrics.
	Code string
}

// Add returns the sum of two counts, which shares no map or slice with them.
func (s RequestStatus) Add(other RequestStatus) RequestStatus {
	s.Lists += other.Lists
	s.Watches += other.Watches
	s.WatchRestarts += other.WatchRestarts
	s.Relists = addCounts(s.Relists, other.Relists)
	s.Received += other.Received
	s.RecentEvents = addIntervals(s.RecentEvents, other.RecentEvents)
	s.Results = addCounts(s.Results, other.Results)
	s.Streaming = s.Streaming || other.Streaming
	s.NotStreamingReason = cmp.Or(s.NotStreamingReason, other.NotStreamingReason)
	s.BytesRead += other.BytesRead
	s.Decoded += other.Decoded
	s.DecodeTime += other.DecodeTime
	return s
}

// Ended returns the counts that remain once nothing more is requested.
func (s RequestStatus) Ended() RequestStatus {
	s.Received, s.RecentEvents = 0, nil
	return s
}

func addCounts[K comparable](a, b map[K]uint64) map[K]uint64 {
	sum := make(map[K]uint64, max(len(a), len(b)))
	maps.Copy(sum, a)
	for key, n := range b {
		sum[key] += n
	}
	return sum
}

// addIntervals returns the sums of the counts of equal intervals. The last ones are of one
// interval.
func addIntervals(a, b []uint32) []uint32 {
	sum := make([]uint32, max(len(a), len(b)))
	for _, counts := range [][]uint32{a, b} {
		last := sum[len(sum)-len(counts):]
		for i, n := range counts {
			last[i] += n
		}
	}
	return sum
}
