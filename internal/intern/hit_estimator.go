// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import "sync/atomic"

// HitEstimator estimates whether the values of one field recur often enough to be worth a lookup.
// The zero value assumes that they do.
//
// Concurrent updates may lose counts, which affects the estimate only.
type HitEstimator struct {
	score   atomic.Int32  // from minScore to maxScore
	skipped atomic.Uint32 // number of Try calls at minScore
}

const (
	// hitScore is how many misses one hit makes up for: a lookup pays from about one hit in nine.
	hitScore = 8
	maxScore = 64
	minScore = -128
	// probeInterval is the interval, in calls of Try, of the lookups made at minScore to notice
	// that the values have begun to recur.
	probeInterval = 32
)

// Try reports whether to look up a value. If so, the caller must call Hit or Miss with the result.
func (h *HitEstimator) Try() bool {
	return h.score.Load() > minScore || h.skipped.Add(1)%probeInterval == 0
}

// Hit records a lookup that found an equal value.
func (h *HitEstimator) Hit() {
	if score := h.score.Load(); score < maxScore {
		h.score.Store(min(score+hitScore, maxScore))
	}
}

// Miss records a lookup that found none.
func (h *HitEstimator) Miss() {
	if score := h.score.Load(); score > minScore {
		h.score.Store(score - 1)
	}
}
