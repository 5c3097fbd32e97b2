package cache

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/utils/clock"
)

// HealthCheck returns a check for a health endpoint: healthz.NamedCheck of apiserver's, or
// a Checker of controller-runtime's. Its error is why the store cannot be relied on: the
// informer does not run, has not synced, or has had no proof for longer than maxStaleness
// that the store is up to date (see Status.FreshAt). A quiet collection is proved about
// once a minute by API servers that send bookmarks and never by others, so be generous;
// zero is no limit.
func (s *SharedInformer[T]) HealthCheck(maxStaleness time.Duration) func(*http.Request) error {
	var now clock.PassiveClock = clock.RealClock{}
	if s.options.Clock != nil {
		now = s.options.Clock
	}
	return func(*http.Request) error { return s.Status().unhealthy(now.Now(), maxStaleness) }
}

var errNotStarted = errors.New("it has not been started")

// unhealthy returns why a store in this condition cannot be relied on.
func (s Status) unhealthy(now time.Time, maxStaleness time.Duration) error {
	age := now.Sub(s.FreshAt)
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
	case maxStaleness <= 0 || age <= maxStaleness:
		return nil
	case s.Err != nil:
		return fmt.Errorf("%s was last known to be up to date %v ago: %w", s.Name, age.Round(time.Second), s.Err)
	default:
		return fmt.Errorf("%s was last known to be up to date %v ago", s.Name, age.Round(time.Second))
	}
}
