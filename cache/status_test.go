package cache_test

import (
	"testing"
	"testing/synctest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// A watch that the server has ended is not shown as one that is followed.
func TestPhaseBetweenWatches(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		if phase := r.Controller.Status().Phase; phase != cache.PhaseWatching {
			t.Fatalf("the phase is %s with a watch open, want %s", phase, cache.PhaseWatching)
		}
		r.CloseWatches()
		synctest.Wait()
		if status := r.Controller.Status(); status.Phase != cache.PhaseResuming || status.Err != nil {
			t.Errorf("the phase is %s, error %v, after the watch ended in order; want %s", status.Phase, status.Err, cache.PhaseResuming)
		}
	})
}
