// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestRecoveredEndsEachRowOfFailures checks that Recovered is called once for a row of reported
// failures, with the length of the row and the time since the first failure, in whole seconds.
func TestRecoveredEndsEachRowOfFailures(t *testing.T) {
	failure := errors.New("unexpected")
	for name, c := range map[string]struct {
		source    scriptedSource
		watchList bool
		want      []string
	}{
		"no failure": {source: listedAt5(idleWatch)},
		"failed lists": {
			source: scriptedSource{lists: lists{listError(failure), listError(failure), listAt("5")}, watches: watches{idleWatch}},
			want:   []string{"2 attempts in 3s"}, // backoff of 1 s and 2 s
		},
		"failed watch": {
			source: listedAt5(openedThen(io.EOF), idleWatch),
			want:   []string{"1 attempts in 0s"}, // resumed within 100 ms
		},
		"refused watches": {
			source: listedAt5(refusedWith(io.EOF), refusedWith(io.EOF), refusedWith(io.EOF), idleWatch),
			want:   []string{"3 attempts in 7s"}, // backoff of 1 s, 2 s and 4 s
		},
		"two rows": {
			source: scriptedSource{lists: lists{listError(failure), listAt("5")}, watches: watches{openedThen(io.EOF), idleWatch}},
			want:   []string{"1 attempts in 1s", "1 attempts in 0s"},
		},
		"relist": {
			source: listedAt5(openedThen(nil), openedThen(nil), openedThen(nil), idleWatch),
			want:   []string{"1 attempts in 2s"}, // the second backoff; the third watch had the first
		},
		"WatchList": {
			source:    listedAt5(openedThen(nil), openedThen(nil), idleWatch),
			watchList: true,
			want:      []string{"2 attempts in 1s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var recovered []string
			runFor(t, time.Minute, Config{
				Source: &c.source, WatchList: always(c.watchList),
				Recovered: func(_ context.Context, after time.Duration, attempts int) {
					recovered = append(recovered, fmt.Sprintf("%d attempts in %v", attempts, after.Round(time.Second)))
				},
			})
			if !slices.Equal(recovered, c.want) {
				t.Errorf("recovered %q, want %q", recovered, c.want)
			}
		})
	}
}

// TestRecoveredMayCallStatus checks that no lock is held during Recovered, and that the row of
// failures has ended.
func TestRecoveredMayCallStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scriptedSource{
			lists:   lists{listError(io.EOF), listAt("5")},
			watches: watches{openedThen(io.EOF), idleWatch},
		}
		var r *Reflector
		var seen []Status
		r = New(Config{
			Source: source, Sink: emptySink{}, Backoff: withoutJitter(),
			Recovered: func(context.Context, time.Duration, int) { seen = append(seen, r.Status()) },
		})
		run(t, time.Minute, r)
		if len(seen) != 2 {
			t.Fatalf("Recovered was called %d times, want 2", len(seen))
		}
		for _, status := range seen {
			if status.Err != nil || status.FailedAttempts != 0 || !status.ErrSince.IsZero() {
				t.Errorf("status during Recovered is %+v, want no failure", status)
			}
		}
	})
}
