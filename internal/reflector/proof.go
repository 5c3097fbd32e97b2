// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/history"
)

// # The server's history
//
// A resumed watch starts before the last changes received, and the server must first repeat them.
// The table of package history says what follows if it does not: a watch from the version reached,
// a question (sessionProof.ask), a consistent read at once (ErrHistoryChanged) or a list later
// (errUnconfirmed). Repeated events are neither applied nor counted. The events that follow are
// those of a normal watch. Where Config.Overlaps says no, such as for clientgo without streaming,
// watches start at the version reached, and nothing is asked. So they do once two starts in a row
// were refused or cut short, and then there is a question at most every five minutes.
//
// After a list, a watch starts at the list's version. A list that follows a 410 is not committed if
// it has a version of an object that another write had made (errVersionReused); a consistent read
// follows, which compares contents. If two lists in a row that evidence has caused show no
// difference, the server is assumed not to repeat its history: watches start at the version reached
// until a list with another cause. A fake of client-go has no history.
//
// A stream that replaces others confirms the history by a list if that of one is in doubt
// (ConfirmHistory). Once their Run has returned, its lists are compared with what they have
// received, too (Inherit).

const (
	// maxFailedOverlaps is the number of watches with an overlap, in a row, that may fail before
	// the next one is resumed at the version reached. The server refuses them by another error than
	// 410, or they end while it repeats the last changes, such as behind a proxy that passes a few
	// events of each.
	maxFailedOverlaps = 2
	// maxFalseAlarms is the number of lists in a row that contradicting evidence caused and that
	// showed no difference, after which the server is assumed not to repeat its history.
	maxFalseAlarms = 2
	// askInterval is the least time between two questions to a server that does not repeat changes,
	// whose watches may be short.
	askInterval = 5 * time.Minute
)

// proof is what a reflector knows of the server's history. The rules are those of package history.
// The watchdog of a watch uses unproved, scheduled and cannotAsk. It ends before the next watch
// begins.
type proof struct {
	history   history.History
	listed    *history.List // the newest states of the list in progress; nil if its versions are not compared
	unproved  atomic.Bool   // a watch has ended, and the server has not proved the last change since
	scheduled confirmation

	evidence       history.Evidence // that causes the next list
	falseAlarms    int              // lists in a row that evidence caused, and that showed no difference
	failedOverlaps int              // in a row
	doubted        bool             // the next watch starts at the version reached, and the server is asked at once
	askedAt        time.Time        // when a watch without an overlap was doubted last
	cannotAsk      bool             // the source's functions do not request the object that they are asked for
}

// overlapResult is how the overlap of a watch ended.
type overlapResult struct {
	began bool          // the watch started before the last changes
	done  bool          // the server repeated all of them
	took  time.Duration // from the first of them to the last
	rest  time.Duration // for which the watch lived after that
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
// reached. After an event that could not be read, a list decides.
func (r *Reflector) beginOverlap() *history.Overlap {
	p := &r.proof
	if r.state != stateResuming || r.watches.unread.Load() || p.doubted || !r.mayOverlap() || p.falseAlarms >= maxFalseAlarms {
		return nil
	}
	if now := r.clock.Now(); p.failedOverlaps >= maxFailedOverlaps {
		if !p.history.IsEmpty() && now.Sub(p.askedAt) >= askInterval {
			p.doubted, p.askedAt = true, now
		}
		return nil
	}
	return p.history.Overlap(r.clock.Now())
}

// afterOverlap records how the overlap of a watch ended. It reports whether the next watch follows
// at once.
func (r *Reflector) afterOverlap(ctx context.Context, last watchResult) (resume bool) {
	p, overlap := &r.proof, last.overlap
	switch {
	case errors.Is(last.err, ErrHistoryChanged):
		p.evidence = evidenceOf(last.err)
	case errors.Is(last.err, errUnconfirmed):
		p.scheduled.begin(r.clock.Now())
		klog.FromContext(ctx).V(2).Info("Listing to confirm the server's history")
	case !overlap.began:
	case overlap.failed() && isGone(last.err):
		// The last version may have more changes than were received.
		p.doubted = !p.history.EndsInGroup(r.version())
		return p.doubted
	case !last.opened && (isDown(last.err) || isFutureVersion(last.err)): // which says nothing of the start
	case !last.opened, last.wasSpentOnOverlap():
		p.failedOverlaps++
	case overlap.done:
		p.failedOverlaps = 0
	}
	return false
}

// settle lets no watch start before the changes up to a version, which the server does not repeat.
func (r *Reflector) settle(version string, at time.Time) {
	r.proof.history.Settle(version, at)
	r.proof.unproved.Store(false)
}

// HistoryInDoubt reports whether a watch has ended and the server has not proved the last change
// since, an event could not be read, or a list that confirms the history is scheduled. It is safe
// for concurrent use.
func (r *Reflector) HistoryInDoubt() bool {
	_, scheduled := r.proof.scheduled.wait(r.clock.Now())
	return scheduled || r.proof.unproved.Load() || r.watches.unread.Load()
}

// ConfirmHistory schedules a list that confirms the server's history. A reflector that replaces
// another one needs it if the other's history is in doubt. It is safe for concurrent use.
func (r *Reflector) ConfirmHistory() { r.proof.scheduled.schedule(r.clock.Now()) }

// Inherit adds what the history of another reflector remembers, which this one has replaced and
// whose Run has returned. It is safe for concurrent use.
func (r *Reflector) Inherit(from *Reflector) { r.proof.history.Inherit(&from.proof.history) }

// evidenceOf returns the evidence of an ErrHistoryChanged.
func evidenceOf(err error) history.Evidence {
	if e, ok := errors.AsType[*history.Error](err); ok {
		return e.Evidence
	}
	return history.OtherHistory
}

// beginList forgets the states of a list that was not committed.
func (p *proof) beginList() { p.listed = new(history.List) }

// check returns errVersionReused if the list in progress has a version of an object that another
// write has made before, or an older state of it than was received.
func (p *proof) check() error {
	if p.falseAlarms >= maxFalseAlarms {
		return nil
	}
	if found := p.history.Compare(p.listed); found != history.None {
		p.evidence = found
		return errVersionReused
	}
	return nil
}

// committed records that the list in progress was committed, and the version that had been reached.
// Evidence is a false alarm if the list lacks none of the changes that were received. Contents that
// differ at equal versions confirm only that another write was seen.
func (p *proof) committed(list feed.Replacement, reached string) {
	if p.evidence != history.None && !list.Differs(reached, p.evidence == history.OtherWrite) {
		p.falseAlarms++
	} else {
		p.falseAlarms = 0
	}
	p.history.Listed(p.listed)
	p.listed = nil
	p.evidence, p.doubted, p.failedOverlaps = history.None, false, 0
	p.unproved.Store(false)
	p.scheduled.settle()
}
