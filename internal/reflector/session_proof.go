// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/history"
)

const (
	// overlapSilence is how long a watch may receive nothing, before all changes were repeated,
	// until the server is asked for the newest change.
	overlapSilence = 5 * time.Second
	// deletionWait is how long a watch may take to send the deletion of an object that is gone:
	// with overlapSilence, more than the 8 s by which a server may be late.
	deletionWait = 3500 * time.Millisecond
)

// sessionProof is what one watch shows of the server's history. The watchdog of the watch uses the
// atomic fields and question; the others belong to the goroutine of the watch.
type sessionProof struct {
	r       *Reflector
	from    string // the version reached at the start of the watch
	started time.Time

	// overlap compares the first events with those received before. It is nil in a watch that
	// starts at from, and once all changes have been repeated.
	overlap       *history.Overlap
	overlapping   atomic.Bool // overlap is not nil
	repeatedFirst time.Time   // when the first change was repeated
	overlapEnded  time.Time   // when overlap became nil, if it was not before
	repeatedTo    string      // the version of the last repeated change; empty if there was no overlap
	records       bool        // events are recorded in the history
	result        overlapResult

	question  *history.Question // about the newest changes before the watch; nil if there is none
	doubted   bool              // the server is asked once the watch is open
	asking    atomic.Bool       // the server may be asked
	proved    atomic.Bool       // the server has proved the last change, whether or not it repeats it
	scheduled atomic.Bool       // a list that confirms the history was scheduled for this watch
}

// begin prepares the proof of a watch that starts now. A WatchList repeats nothing.
func (p *sessionProof) begin(r *Reflector, from string, now time.Time, watchList bool) {
	p.r, p.from, p.started = r, from, now
	if watchList {
		r.proof.beginList()
	} else {
		p.overlap = r.beginOverlap()
		p.doubted, r.proof.doubted = r.proof.doubted, false
	}
	p.result.began = p.overlap != nil
	if p.result.began || p.doubted {
		p.question = r.proof.history.Question()
		p.asking.Store(true)
	}
	p.overlapping.Store(p.result.began)
}

// opened records that the server accepted the watch. inOrder is set if the source does not count
// versions.
func (p *sessionProof) opened(inOrder bool) {
	p.records = !p.r.config.Source.Traits().Fake
	if inOrder {
		p.endOverlap()
	}
	if p.overlap == nil && !p.doubted {
		p.r.proof.unproved.Store(false)
	}
}

// end records, once the request has ended, what it has shown.
func (p *sessionProof) end(opened bool) {
	all := &p.r.proof
	switch {
	case opened && !p.records:
		p.r.settle(p.r.version(), p.started)
	case p.doubted && p.asking.Load(): // it ended before the server was asked
		all.doubted = true
	case p.doubted:
		p.r.settle(p.from, p.started)
	}
	all.unproved.Store(!all.history.IsEmpty())
	if p.proved.Load() {
		p.result = overlapResult{} // the server need not repeat anything
	}
	if p.result.done = p.result.began && p.overlap == nil; p.result.done {
		p.result.rest = p.r.clock.Since(p.overlapEnded)
		if !p.repeatedFirst.IsZero() {
			p.result.took = p.overlapEnded.Sub(p.repeatedFirst)
		}
	}
}

// stop ends comparing and recording: versions cannot be compared.
func (p *sessionProof) stop() {
	p.endOverlap()
	p.records = false
}

func (p *sessionProof) endOverlap() {
	p.overlap, p.overlapEnded = nil, p.r.clock.Now()
	p.overlapping.Store(false)
	p.asking.Store(p.doubted)
	p.r.proof.unproved.Store(false)
}

// isProved reports whether the server has proved the last change. It need not repeat changes then.
func (p *sessionProof) isProved() bool {
	if p.overlap != nil && p.proved.Load() {
		p.endOverlap()
	}
	return p.proved.Load()
}

// isRepeated reports whether an event of a proved watch is one that the server repeats all the
// same. A deletion may have the version of the object's last update, and be new.
func (p *sessionProof) isRepeated(eventType watch.EventType, item feed.Item) bool {
	return p.result.began && !feed.IsOlder(p.from, item.ResourceVersion) &&
		(eventType != watch.Deleted || !p.r.config.Sink.HasVersion(item))
}

// record records an event in the history, before the resourceVersion advances to its own.
func (p *sessionProof) record(eventType watch.EventType, item feed.Item, stamp history.Stamp, reached string) {
	if p.records {
		p.r.proof.history.Received(eventType, item, stamp, reached, p.r.clock.Now())
	}
}

// deleted records that the watch has sent the deletion of an object.
func (p *sessionProof) deleted(key string) {
	if p.asking.Load() && p.question != nil {
		p.question.Deleted(key)
	}
}

// repeat compares an event with the next one of the overlap. It is not delivered, counted or
// applied: the sink has it.
func (p *sessionProof) repeat(eventType watch.EventType, item feed.Item, stamp history.Stamp) error {
	if found := p.overlap.Compare(eventType, item, stamp); found != history.None {
		return fmt.Errorf("%w: %w", ErrHistoryChanged, history.Errorf(found, "%s of %q at %s, after %s", eventType, item.Key, item.ResourceVersion, p.overlap.Start))
	}
	p.repeated(stamp)
	return nil
}

// repeatUnreadable is repeat for an event of which only the version can be read, or nothing if that
// is empty.
func (p *sessionProof) repeatUnreadable(version string) error {
	if !p.overlap.RepeatUnreadable(version) {
		return fmt.Errorf("%w: event at %s, after %s", ErrHistoryChanged, version, p.overlap.Start)
	}
	p.repeated(history.Stamp{})
	return nil
}

// repeated records that the server has repeated a change with its stamp.
func (p *sessionProof) repeated(stamp history.Stamp) {
	o := p.overlap
	if p.repeatedFirst.IsZero() {
		p.repeatedFirst = p.r.clock.Now()
	}
	if !o.Done() {
		return
	}
	p.endOverlap()
	if stamp.IsOfWrite() {
		p.r.proof.falseAlarms = 0
	}
	if p.scheduled.Load() {
		p.r.proof.scheduled.settle()
	}
	if p.repeatedTo = o.Last; o.Last == p.from {
		p.r.status.confirm(p.r.clock.Now())
	}
}

// lacked reports whether an event has a version that the server has not repeated, although it was
// reached before the watch: a bookmark had passed it.
func (p *sessionProof) lacked(version string) bool {
	return p.repeatedTo != "" && feed.IsOlder(p.repeatedTo, version) && !feed.IsOlder(p.from, version)
}

// bookmark handles a bookmark before all changes were repeated.
func (p *sessionProof) bookmark(version string) error {
	switch {
	case version == "":
		return nil
	case !isValid(version):
		return fmt.Errorf("%w in a bookmark: %q", ErrNoVersion, version)
	case feed.IsOlder(version, p.overlap.Start):
		return fmt.Errorf("%w at %s, after %s", errOlderBookmark, version, p.overlap.Start)
	case !p.overlap.AllowsBookmark(version):
		return fmt.Errorf("%w: bookmark at %s", ErrHistoryChanged, version)
	}
	return nil
}

// ask asks the server for the objects of the newest changes, and decides what follows. It returns
// the error that ends the watch, or nil if that goes on. The watchdog of the watch calls it.
func (p *sessionProof) ask(ctx context.Context) error {
	r := p.r
	hadOverlap := p.overlapping.Load()
	verdict, err := r.ask(ctx, p.question)
	if ctx.Err() != nil || feed.IsPanic(err) || errors.Is(err, ErrVersionRegressed) {
		return err
	}
	if verdict == history.Absent {
		if err := r.sleep(ctx, deletionWait); err != nil {
			return err
		}
		verdict, err = p.question.Deletions()
	}
	switch {
	case hadOverlap && !p.overlapping.Load(): // the server has repeated the changes meanwhile
	case verdict == history.Refuted:
		return fmt.Errorf("%w: %w", ErrHistoryChanged, err)
	case verdict == history.Proved:
		p.proved.Store(true)
		r.proof.unproved.Store(false)
	default:
		p.scheduled.Store(r.proof.scheduled.schedule(r.clock.Now()))
	}
	return nil
}
