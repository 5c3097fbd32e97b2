package reflector

import (
	"testing"
	"time"
)

// TestWatchListIsDecidedOnce checks that Config.WatchList is called once, before the first request,
// also if that request fails.
func TestWatchListIsDecidedOnce(t *testing.T) {
	for name, watchList := range map[string]bool{"WatchList": true, "list": false} {
		t.Run(name, func(t *testing.T) {
			source := &scriptedSource{lists: []func() (string, error){listAt("5")}}
			for range 5 {
				source.watches = append(source.watches, openedThen(nil))
			}
			source.watches = append(source.watches, idleWatch)
			calls := 0
			runFor(t, time.Minute, Config{Source: source, WatchList: func() bool {
				if calls++; source.listed+source.watched > 0 {
					t.Errorf("WatchList was called after %d requests, want none", source.listed+source.watched)
				}
				return watchList
			}})
			if calls != 1 {
				t.Errorf("WatchList was called %d times, want once", calls)
			}
		})
	}
}
