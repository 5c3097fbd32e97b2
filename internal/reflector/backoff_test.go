package reflector

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

// inSteps is a backoff without jitter: 1, 2, 4, 8 and again 8 seconds.
func inSteps() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Steps: 10, Cap: 8 * time.Second}
}

// waits are what the next waits would be, without any time passing.
func waits(b *backoff, n int) (all []time.Duration) {
	for range n {
		all = append(all, b.next(nil))
	}
	return all
}

func TestBackoffGrowsToItsCap(t *testing.T) {
	b := newBackoff(inSteps(), clock.RealClock{})
	if got := fmt.Sprint(waits(b, 6)); got != "[1s 2s 4s 8s 8s 8s]" {
		t.Errorf("waits %s", got)
	}
}

func TestBackoffBeginsAnewAfterHealthOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackoff(inSteps(), clock.RealClock{})
		waits(b, 3)
		<-time.After(time.Hour) // of nothing: the last attempt failed
		if got := b.next(nil); got != 8*time.Second {
			t.Errorf("after an hour without an attempt: %v", got)
		}
		b.well()
		<-time.After(backoffReset - time.Nanosecond)
		b.well()
		if got := b.next(nil); got != 8*time.Second {
			t.Errorf("after less than %v of health: %v", backoffReset, got)
		}
		b.well()
		<-time.After(backoffReset / 2)
		b.well()
		<-time.After(backoffReset / 2)
		if got := fmt.Sprint(waits(b, 2)); got != "[1s 2s]" {
			t.Errorf("after %v of health: %v", backoffReset, got)
		}
	})
}

func TestBackoffIsNoLessThanTheServerAsks(t *testing.T) {
	asks := func(seconds int) error {
		return fmt.Errorf("watch: %w", apierrors.NewTooManyRequests("wait", seconds))
	}
	for _, c := range []struct {
		err         error
		least, most time.Duration
	}{
		{nil, time.Second, time.Second},
		{errors.New("any"), time.Second, time.Second},
		{asks(0), time.Second, time.Second},
		{asks(-7), time.Second, time.Second},
		{asks(7), 7 * time.Second, 9 * time.Second},
		{asks(1 << 30), maxRetryAfter, maxRetryAfter * 6 / 5},
		{apierrors.NewServerTimeout(podResource, "watch", 3), 3 * time.Second, 4 * time.Second},
		{apierrors.NewServerTimeout(podResource, "watch", 0), time.Second, time.Second},
	} {
		if got := newBackoff(inSteps(), clock.RealClock{}).next(c.err); got < c.least || got > c.most {
			t.Errorf("after %v: %v, want %v to %v", c.err, got, c.least, c.most)
		}
	}
}

// The usual one waits 0.8 s at first and never more than 30 s.
func TestDefaultBackoff(t *testing.T) {
	b := newBackoff(DefaultBackoff(), clock.RealClock{})
	all := waits(b, 50)
	if all[0] < 800*time.Millisecond || all[0] > 1200*time.Millisecond {
		t.Errorf("first wait %v", all[0])
	}
	for i, d := range all {
		if d > 30*time.Second || i > 5 && d < 20*time.Second {
			t.Errorf("wait %d is %v", i, d)
		}
	}
}
