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

// TestStateAfterFailedWatch checks the table "the watch failed with" of the package documentation.
func TestStateAfterFailedWatch(t *testing.T) {
	const never = 100
	for _, c := range []struct {
		err   error
		next  state
		after int // the number of failures after which next is entered
	}{
		{apierrors.NewResourceExpired("old"), stateRelisting, 1},
		{apierrors.NewGone("old"), stateRelisting, 1},
		{ErrVersionRegressed, stateConsistentRead, 1},
		{apierrors.NewTimeoutError("Too large resource version: 9, current: 8", 1), stateConsistentRead, 5},
		{apierrors.NewUnauthorized("token expired"), stateRelisting, never},
		{apierrors.NewForbidden(podResource, "", nil), stateRelisting, never},
		{apierrors.NewTooManyRequestsError("busy"), stateRelisting, never},
		{apierrors.NewServiceUnavailable("starting"), stateRelisting, never},
		{apierrors.NewTimeoutError("slow", 0), stateRelisting, never},
		{io.ErrUnexpectedEOF, stateRelisting, never},
		{ErrStalled, stateRelisting, never},
		{apierrors.NewInternalError(errors.New("broken")), stateRelisting, 5},
		{ErrStale, stateRelisting, 2},
		{errors.New("other"), stateRelisting, 2},
	} {
		r := New(Config{})
		r.status.advance("5", time.Time{})
		for failures := 1; failures < never; failures++ {
			want := stateResuming
			if failures >= c.after {
				want = c.next
			}
			if got := r.stateAfter(&AttemptError{Op: OpWatch, Err: c.err}, failures); got != want {
				t.Errorf("state after %d times %v is %d, want %d", failures, c.err, got, want)
				break
			}
		}
	}
}

// TestWatchWithoutVersionIsNotResumed checks that a watch at "" or "0", which does not deliver
// earlier deletions, is followed by a list.
func TestWatchWithoutVersionIsNotResumed(t *testing.T) {
	for _, version := range []string{"", "0"} {
		r := New(Config{})
		r.status.advance(version, time.Time{})
		if got := r.stateAfter(ErrStalled, 1); got != stateRelisting {
			t.Errorf("state after a failed watch at %q is %d, want %d", version, got, stateRelisting)
		}
	}
}

func TestListVersion(t *testing.T) {
	for _, c := range []struct {
		state   state
		reached string
		want    string
	}{
		{stateCold, "", "0"},
		{stateRelisting, "5", "5"},
		{stateRelisting, "", "0"}, // a collection without a resourceVersion
		{stateConsistentRead, "5", ""},
	} {
		r := New(Config{})
		r.status.advance(c.reached, time.Time{})
		r.state = c.state
		if got := r.listVersion(); got != c.want {
			t.Errorf("list version in state %d at %q is %q, want %q", c.state, c.reached, got, c.want)
		}
	}
}
