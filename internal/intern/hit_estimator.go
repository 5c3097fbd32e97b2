package intern

import "sync/atomic"

// Worth finds out whether the values of one kind (one field of one type) come again
// often enough to be looked for. The zero Worth takes it that they do.
//
// Counts may get lost when several goroutines count at once; nothing but an
// opinion depends on them.
type HitEstimator struct {
	score   atomic.Int32  // from worthless to mostWorth
	skipped atomic.Uint32 // since it is worthless
}

const (
	// hitScore makes up for as many misses: looking pays from about one hit in nine.
	hitScore = 8
	maxScore = 64
	minScore = -128
	// probe is how often something worthless is looked for all the same, since
	// things change: one time in so many.
	probeInterval = 32
)

// Try tells whether to look. Hit or Miss is to say what came of it.
func (w *HitEstimator) Try() bool {
	return w.score.Load() > minScore || w.skipped.Add(1)%probeInterval == 0
}

// Hit says that there was an equal value.
func (w *HitEstimator) Hit() {
	if score := w.score.Load(); score < maxScore {
		w.score.Store(min(score+hitScore, maxScore))
	}
}

// Miss says that there was none.
func (w *HitEstimator) Miss() {
	if score := w.score.Load(); score > minScore {
		w.score.Store(score - 1)
	}
}
