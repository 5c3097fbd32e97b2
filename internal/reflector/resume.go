// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"
)

// maxFailedOverlaps is the number of watches with an overlap, in a row, that may fail before the
// next one is resumed at the version reached. The server refuses them by another error than 410, or
// they end while it repeats the last changes, such as behind a proxy that passes a few events of
// each.
const maxFailedOverlaps = 2

// overlapResult is how the overlap of a watch ended.
type overlapResult struct {
	began  bool          // the watch started before the last changes
	recent bool          // the server certainly had the last change
	done   bool          // the server repeated all of them
	took   time.Duration // from the first of them to the last
	rest   time.Duration // for which the watch lived after that
}

// failed reports whether the watch ended before all changes were repeated.
func (o overlapResult) failed() bool { return o.began && !o.done }

// wasSpentOnOverlap reports whether an open watch ended before all changes were repeated, or had
// too little time for new events after that.
func (w watchResult) wasSpentOnOverlap() bool {
	rest := w.overlap.rest
	return w.overlap.failed() || !w.advanced && rest < shortWatch || w.overlap.took >= shortWatch && w.overlap.took > rest
}

// mayOverlap reports whether watches may start before the last changes received. A fake of
// client-go has no history to repeat.
func (r *Reflector) mayOverlap() bool {
	return !r.config.Source.Traits().Fake && (r.config.Overlaps == nil || r.config.Overlaps())
}

// beginOverlap returns the comparison for the next watch, or nil if it starts at the version
// reached.
func (r *Reflector) beginOverlap() *overlap {
	if r.state != stateResuming || r.isUnchecked() || !r.mayOverlap() || r.refusedOverlaps >= maxFailedOverlaps {
		return nil
	}
	return r.journal.overlap(r.clock.Now())
}

// isUnchecked reports whether watches are resumed without an overlap until the next list.
func (r *Reflector) isUnchecked() bool {
	return r.falseAlarms.repeatsNothing() || r.shortOverlaps >= maxFailedOverlaps
}

// historyRepeated compares the contents once the server has repeated all changes. It returns
// ErrHistoryChanged if only a restore explains a difference. Any other difference schedules a list.
func (r *Reflector) historyRepeated(o *overlap) error {
	compares := !r.falseAlarms.repeatsOtherBytes()
	if compares && o.differsLate() {
		return fmt.Errorf("%w: other contents at %s", ErrHistoryChanged, o.last)
	}
	r.falseAlarms.repeated(!o.anyDiffers)
	if compares && o.anyDiffers {
		r.confirmation.schedule(r.clock.Now(), otherContents)
	}
	o.adopt()
	return nil
}

// afterOverlap records how the overlap of a watch ended, and the cause of the list that follows, if
// one does. It reports whether the next watch follows at once, at the version reached, because the
// server no longer has the start of the overlap.
func (r *Reflector) afterOverlap(ctx context.Context, last watchResult) (resume bool) {
	overlap := last.overlap
	switch {
	case errors.Is(last.err, ErrHistoryChanged):
		r.listCause = missingChanges
	case errors.Is(last.err, errUnconfirmed):
		r.listCause = r.confirmation.begin(r.clock.Now())
		klog.FromContext(ctx).V(2).Info("Listing to confirm the server's history")
	case !overlap.began:
		r.refusedOverlaps = 0
	case overlap.failed() && isGone(last.err):
		return r.resumeAfterGone(overlap)
	case !last.opened && (isDown(last.err) || isFutureVersion(last.err)): // which says nothing of the start
	case !last.opened:
		r.refusedOverlaps++
	case last.wasSpentOnOverlap():
		if r.shortOverlaps++; r.isUnchecked() {
			r.ConfirmHistory()
			r.status.update(func(now *Status) { now.HistoryUnchecked = true })
		}
	case overlap.done:
		r.refusedOverlaps, r.shortOverlaps = 0, 0
	}
	return false
}

// resumeAfterGone is afterOverlap for a 410, and reports whether a watch from the version reached
// follows. It does not if the last version may have more changes than were received. A server that
// certainly had the last change must have lost its history.
func (r *Reflector) resumeAfterGone(overlap overlapResult) bool {
	if r.journal.endsInGroup(r.version()) {
		return false
	}
	r.journal.reset(r.version())
	if overlap.recent {
		r.ConfirmHistory()
	}
	return true
}

// HistoryInDoubt reports whether a watch has ended and the server has not repeated the last changes
// since, or a list that confirms them is scheduled. It is safe for concurrent use.
func (r *Reflector) HistoryInDoubt() bool {
	_, scheduled := r.confirmation.wait(r.clock.Now())
	return scheduled || r.unrepeated.Load()
}

// ConfirmHistory schedules a list that confirms the server's history. A reflector that replaces
// another one needs it if the other's history is in doubt. It is safe for concurrent use.
func (r *Reflector) ConfirmHistory() { r.confirmation.schedule(r.clock.Now(), historyUnavailable) }

// historyListed records that a list at version was committed. differed says that the list differed
// from the sink's state at the version reached.
func (r *Reflector) historyListed(version string, differed bool) {
	r.falseAlarms.listed(r.listCause, differed)
	r.listCause, r.refusedOverlaps, r.shortOverlaps = noEvidence, 0, 0
	r.unrepeated.Store(false)
	r.journal.reset(version)
	r.confirmation.settle()
	r.status.update(func(now *Status) { now.HistoryUnchecked = r.isUnchecked() })
}
