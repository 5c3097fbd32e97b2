// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/utils/clock"
)

// HealthOptions are the requirements of a health check, in addition to a running informer that has
// synced.
type HealthOptions struct {
	// MaxStaleness is the limit of Status.Staleness. Zero is no limit. With API servers that send
	// bookmarks, about one a minute, use several minutes; with others, use zero, as a collection
	// that does not change is not confirmed. A fake.ListerWatcher sends them after BookmarkEvery.
	MaxStaleness time.Duration
	// FailOnQuarantined fails the check if the newest state of an object could not be stored.
	FailOnQuarantined bool
}

// healthCheck returns a check of a status.
func healthCheck(status func() Status, now clock.PassiveClock, options HealthOptions) func(*http.Request) error {
	return func(*http.Request) error { return status().unhealthy(now.Now(), options) }
}

var errNotStarted = errors.New("Run has not been called")

// unhealthy returns why a store in this condition cannot be relied on.
func (s Status) unhealthy(now time.Time, options HealthOptions) error {
	switch {
	case s.Phase == PhaseInvalid:
		return s.Err
	case s.Phase == PhaseStopped:
		return fmt.Errorf("%s: %w", s.Name, ErrStopped)
	case s.Phase == PhaseIdle:
		return fmt.Errorf("%s: %w", s.Name, errNotStarted)
	case !s.Synced && s.Err != nil:
		return fmt.Errorf("%s has not synced: %w", s.Name, s.Err)
	case !s.Synced:
		return fmt.Errorf("%s has not synced", s.Name)
	}
	age := ageAt(now, s.FreshAt)
	if limit := options.MaxStaleness; limit > 0 && age > limit {
		return s.staleError(age, limit)
	}
	if options.FailOnQuarantined {
		return s.notStored()
	}
	return nil
}

// staleError reports that the store was last confirmed up to date longer ago than the limit.
func (s Status) staleError(age, limit time.Duration) error {
	text := fmt.Sprintf("%s was last confirmed up to date %v ago, MaxStaleness is %v", s.Name, age.Round(time.Second), limit)
	if s.Err != nil {
		return fmt.Errorf("%s: %w", text, s.Err)
	}
	return errors.New(text)
}

// ageAt returns the time from then to now, by the clock that says more of the two: monotonic time
// stands still while the machine is suspended, and wall time may be set back.
func ageAt(now, then time.Time) time.Duration {
	return max(now.Sub(then), now.Round(0).Sub(then.Round(0)))
}

// notStored returns an error with the first object whose newest state could not be stored.
func (s Status) notStored() error {
	switch n := s.Quarantined + s.Unkeyed; {
	case n == 0:
		return nil
	case len(s.QuarantinedKeys) == 0:
		return fmt.Errorf("%s: %d without a readable name, not stored: %w", s.Name, n, ErrNotStored)
	default:
		first := s.QuarantinedKeys[0]
		return fmt.Errorf("%s: %d not stored, the first is %q: %w", s.Name, n, first.Key, first.Err)
	}
}
