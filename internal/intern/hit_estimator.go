package intern

import "sync/atomic"

// Worth finds out whether the values of one kind (one field of one type) come again
// often enough to be looked for. The zero Worth takes it that they do.
//
// Counts may get lost when several goroutines count at once; nothing but an
// opinion depends on them.
type Worth struct {
	score   atomic.Int32  // from worthless to mostWorth
	skipped atomic.Uint32 // since it is worthless
}

const (
	// hitScore makes up for as many misses: looking pays from about one hit in nine.
	hitScore  = 8
	mostWorth = 64
	worthless = -128
	// probe is how often something worthless is looked for all the same, since
	// things change: one time in so many.
	probe = 32
)

// Try tells whether to look. Hit or Miss is to say what came of it.
func (w *Worth) Try() bool {
	return w.score.Load() > worthless || w.skipped.Add(1)%probe == 0
}

// Hit says that there was an equal value.
func (w *Worth) Hit() {
	if score := w.score.Load(); score < mostWorth {
		w.score.Store(min(score+hitScore, mostWorth))
	}
}

// Miss says that there was none.
func (w *Worth) Miss() {
	if score := w.score.Load(); score > worthless {
		w.score.Store(score - 1)
	}
}
