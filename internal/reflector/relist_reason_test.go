// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestRelistReasons maps the errors that end a row of watches to reasons.
func TestRelistReasons(t *testing.T) {
	for _, c := range []struct {
		err  error
		want RelistReason
	}{
		{apierrors.NewResourceExpired("too old"), RelistExpired},
		{apierrors.NewGone("gone"), RelistExpired},
		{fmt.Errorf("%w: 3, after 5", ErrVersionRegressed), RelistVersionRegressed},
		{errOlderBookmark, RelistVersionRegressed},
		{apierrors.NewTimeoutError("Too large resource version: 9", 1), RelistVersionRegressed},
		{fmt.Errorf("%w (2); listing again", ErrQuarantined), RelistQuarantined},
		{ErrShortWatches, RelistShortWatches},
		{errNoResume, RelistNoVersion},
		{apierrors.NewInternalError(io.EOF), RelistServerError},
		{apierrors.NewBadRequest("no"), RelistRefused},
		{apierrors.NewMethodNotSupported(schema.GroupResource{}, "watch"), RelistRefused},
		{fmt.Errorf("%w: MODIFIED", ErrStale), RelistWatchFailed},
		{errors.New("malformed"), RelistWatchFailed},
	} {
		if got := relistReason(&AttemptError{Op: OpWatch, Err: c.err}); got != c.want {
			t.Errorf("the reason of %q is %s, want %s", c.err, got, c.want)
		}
	}
}

// TestStatusCountsRelistsAndRestarts counts two watches that are resumed, and two relists.
func TestStatusCountsRelistsAndRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := apierrors.NewResourceExpired("too old")
		source := listedAt5(
			refusedWith(io.EOF), openedThen(io.ErrUnexpectedEOF), refusedWith(io.EOF), openedThen(io.EOF), openedThen(gone),
			refusedWith(gone), idleWatch,
		)
		r := New(Config{Source: &source, Sink: emptySink{}, Backoff: withoutJitter()})
		run(t, time.Minute, r)
		status := r.Status().Requests
		if status.WatchRestarts != 2 || len(status.Relists) != 1 || status.Relists[string(RelistExpired)] != 2 {
			t.Errorf("%d restarts and relists %v, want 2 restarts and 2 because the version had expired", status.WatchRestarts, status.Relists)
		}
	})
}
