// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"errors"
	"testing"
	"time"
)

// TestWatchdogErrorTakesPrecedence checks that the watchdog's error is the error of the watch, even
// if the source returns nil when its context is cancelled.
func TestWatchdogErrorTakesPrecedence(t *testing.T) {
	for name, c := range map[string]struct {
		lists lists
		want  error
	}{
		"stalled":   {lists{listAt("5")}, ErrStalled},
		"regressed": {lists{listAt("5"), listAt("3")}, ErrVersionRegressed}, // the second is a probe
	} {
		t.Run(name, func(t *testing.T) {
			source := &scriptedSource{lists: c.lists, watches: watches{idleWatch}}
			reported := runFor(t, 30*time.Minute, Config{Source: source})
			for _, err := range reported {
				if errors.Is(err, c.want) {
					return
				}
			}
			t.Errorf("reported %v, want %v", reported, c.want)
		})
	}
}
