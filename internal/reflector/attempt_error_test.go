// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"errors"
	"io"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestReportedErrorNamesAttempt checks the Op and the text of the first reported error.
func TestReportedErrorNamesAttempt(t *testing.T) {
	gone := apierrors.NewResourceExpired("old")
	busy := apierrors.NewTooManyRequestsError("busy")
	for name, c := range map[string]struct {
		lists     lists
		watches   watches
		watchList bool
		op        Op
		text      string
	}{
		"list fails":       {lists: lists{listError(io.EOF)}, op: OpList, text: "list: EOF"},
		"watch is refused": {watches: watches{refusedWith(io.EOF)}, op: OpWatchOpen, text: "watch: EOF"},
		"watch fails":      {watches: watches{openedThen(io.EOF)}, op: OpWatch, text: "watch: EOF"},
		"list is refused":  {lists: lists{listError(errRefused)}, op: OpList, text: `list: dial: connection refused (Get "https://server")`},
		"version is gone":  {watches: watches{openedThen(gone)}, op: OpWatch, text: "watch: old"},
		"short watches":    {watches: watches{openedThen(nil)}, op: OpRelist, text: ErrShortWatches.Error()},
		"no version":       {lists: lists{listAt("")}, watches: watches{openedThen(nil)}, op: OpRelist, text: errNoResume.Error()},
		"WatchList is busy": {
			watches: watches{refusedWith(busy)}, watchList: true, op: OpWatchList, text: "WatchList: watch: " + busy.Error(),
		},
		"WatchList is closed early": {
			watches: watches{openedThen(nil)}, watchList: true, op: OpWatchList, text: "WatchList: " + errClosedEarly.Error(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.watches == nil {
				c.watches = watches{idleWatch}
			}
			if c.lists == nil {
				c.lists = lists{listAt("5")}
			}
			source := &scriptedSource{lists: c.lists, watches: c.watches}
			reported := runFor(t, time.Minute, Config{Source: source, WatchList: always(c.watchList)})
			if len(reported) == 0 {
				t.Fatal("no error was reported")
			}
			first := reported[0]
			var attempt *AttemptError
			if !errors.As(first, &attempt) || attempt.Op != c.op || first.Error() != c.text {
				t.Errorf("reported %#v (%v), want %q of %q", first, first, c.text, c.op)
			}
		})
	}
}
