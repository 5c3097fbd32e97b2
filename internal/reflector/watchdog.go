package reflector

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinformer/kinformer/internal/feed"
)

const (
	// listSilence is how long a list may take to its first or next item.
	listSilence = 5 * time.Minute
	// initialSilence is how long a WatchList may take to its first or next item.
	initialSilence = 30 * time.Second
	// watchMargin is what a watch is given beyond the time after which it asked
	// the server to end it.
	watchMargin = 15 * time.Second
	// bookmarkSilence is how long a watch may be silent whose server has sent
	// bookmarks regularly; the API server's come every minute.
	bookmarkSilence = 3 * time.Minute
	// probeInterval is how long a server that says nothing is believed not to have
	// gone back.
	probeInterval = 2 * time.Minute
	// probeSilence is how long a probe may take.
	probeSilence = 30 * time.Second
)

// watchdog returns a context that ends with ErrSilent once r.proofs has stood
// still for a time. stop ends it and waits for its goroutine.
func (r *Reflector) watchdog(ctx context.Context, silence time.Duration) (_ context.Context, stop func()) {
	return r.guard(ctx, func() time.Duration { return silence }, func(context.Context) error { return nil })
}

// guardWatch is the watchdog of a watch. One that resumes, rather than follows on
// a list, and is silent, may be a watch for versions that the server will only
// reach long after: an etcd restored from backup counts from where the backup
// was, and API servers accept such a watch and say nothing
// (kubernetes/kubernetes#107457). A list of one object tells.
func (r *Reflector) guardWatch(ctx context.Context, s *session, most time.Duration) (_ context.Context, stop func()) {
	silence := func() time.Duration {
		if !s.ready.Load() {
			return initialSilence
		}
		return s.bookmarks.silence(most)
	}
	ask := r.resumes && s.initial == nil && wellFormed(s.from)
	return r.guard(ctx, silence, func(ctx context.Context) error {
		if !ask || !r.status.unproven(r.clock.Now(), probeInterval) {
			return nil
		}
		answered, err := r.probe(ctx)
		ask = !answered
		return err
	})
}

// probe asks the server for its version and returns ErrWentBack if that is older
// than the one seen. A server that does not answer proves nothing.
func (r *Reflector) probe(ctx context.Context) (answered bool, err error) {
	seen := r.version()
	page, err := r.page(ctx, metav1.ListOptions{Limit: 1}, func(feed.Item) error { return nil })
	if err != nil {
		return false, nil //nolint:nilerr // as said above
	}
	order, err := resourceversion.CompareResourceVersion(page.ResourceVersion, seen)
	switch {
	case err != nil: // versions that cannot be compared prove nothing
		return true, nil //nolint:nilerr // as said above
	case order < 0:
		return true, fmt.Errorf("%w: %s, after %s", ErrVersionRegressed, page.ResourceVersion, seen)
	default:
		r.status.proven(r.clock.Now())
	}
	return true, nil
}

// probeAfter probes after a watch that a proxy, say, has cut before the watchdog
// could: a row of such watches would never find out.
func (r *Reflector) probeAfter(ctx context.Context, last end) error {
	if last.lived >= minWatchTimeout || !wellFormed(r.version()) || !r.status.unproven(r.clock.Now(), probeInterval) {
		return nil
	}
	watched, stop := r.watchdog(ctx, probeSilence)
	_, err := r.probe(watched)
	stop()
	r.consistent = r.consistent || err != nil
	return err
}

// guard returns a context that ends with ErrSilent once r.proofs has stood still
// for as long as silence says, or with the error of quiet, which is called when
// they have for a part of that. It looks four times within the limit, and as often
// within probeInterval, so that an answer costs the reflector no more than a
// counter.
func (r *Reflector) guard(ctx context.Context, silence func() time.Duration, quiet func(context.Context) error) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := r.whileAnswered(ctx, silence, quiet); err != nil {
			cancel(err)
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}

func (r *Reflector) whileAnswered(ctx context.Context, silence func() time.Duration, quiet func(context.Context) error) error {
	seen, since := r.proofs.Load(), r.clock.Now()
	for {
		limit := silence()
		look := min(limit/4, probeInterval/4, limit-r.clock.Since(since))
		timer := r.clock.NewTimer(max(look, time.Second))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
		if proofs := r.proofs.Load(); proofs != seen {
			seen, since = proofs, r.clock.Now()
		} else if r.clock.Since(since) >= limit {
			return ErrStalled
		} else if err := quiet(ctx); err != nil {
			return err
		}
	}
}
