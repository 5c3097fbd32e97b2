// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinformer/kinformer/internal/feed"
)

// maxExpiredTokens is the number of lists that may fail because a continue token has expired, after
// which the collection is requested in one piece.
const maxExpiredTokens = 2

// errExpiredToken is the cause of a list that failed because the server no longer has the snapshot
// that its pages are read from.
var errExpiredToken = errors.New("the continue token has expired")

// errMatchRefused is the cause of a list that failed because the server does not accept
// resourceVersionMatch.
var errMatchRefused = errors.New("the server refuses resourceVersionMatch")

// errVersionReused is the cause of a list that was not committed, because it has a version of an
// object that another write has made before, or an older state of it than was received.
var errVersionReused = errors.New("object was written again at a resourceVersion that was received before")

// listState is what a reflector knows of its lists.
type listState struct {
	received      atomic.Int64 // counts the objects of the one in progress, for the status
	failures      int          // lists that failed since the last commit, for reasons that may lie in the resourceVersion
	expiredTokens int          // lists that failed since the last commit because a continue token had expired
	committedAt   time.Time    // the last commit of a list
	unordered     bool         // the version of the last commit cannot be compared with others

	paged                bool        // the server has answered a list in pages
	matchRefusedAt       time.Time   // when the server refused resourceVersionMatch last
	watchListUnsupported bool        // by the server
	wantsWatchList       func() bool // Config.WatchList, which it calls once

	releaseInitial func() // returned by Config.HoldInitial; nil once it was called
}

// list lists the collection and commits the list. A consistent read follows at once if the server
// refuses the resourceVersion, if the list is older than the version reached, or if it contradicts
// the history. After several failures at one version, the list is a consistent read from the start.
//
//	the list failed with                       next request
//	─────────────────────────────────────────  ──────────────────────────────────────────
//	410 for a continue token                   at once, the most recent state in pages; 2nd: at once,
//	                                           the same list in one piece
//	400 or 422, with resourceVersionMatch      at once, the same list in one piece, without it
//	410, 504 "Too large resource version" or   consistent read, at once
//	ErrVersionRegressed
//	errVersionReused                           consistent read, at once
//	401, 403, 429, 503, 504, a connection      the same list or WatchList
//	error or ErrStalled
//	anything else, such as 500, or a list      the same list or WatchList; 6th: consistent read
//	whose pages do not end
func (r *Reflector) list(ctx context.Context) error {
	first, err := r.findStart(ctx)
	if err != nil {
		return &AttemptError{Op: OpList, Err: err}
	}
	state := r.state
	if r.lists.failures%(maxFailures+1) == maxFailures {
		r.state = stateConsistentRead
	}
	if first != nil {
		err = r.commitComplete(ctx, first.Replacement, first.version, first.requested)
	} else {
		err = r.listWithFallbacks(ctx)
	}
	if r.state != stateConsistentRead && ctx.Err() == nil && needsConsistentRead(err) {
		r.state, state = stateConsistentRead, stateConsistentRead
		err = r.listWithFallbacks(ctx)
	}
	if err == nil {
		return nil
	}
	r.state = state
	if !isAuthError(err) && !isBusy(err) && !isUnreachable(err) {
		r.lists.failures++
	}
	return &AttemptError{Op: OpList, Err: err}
}

// needsConsistentRead reports whether a list that failed with err is followed by a consistent read.
func needsConsistentRead(err error) bool {
	return isGone(err) || isFutureVersion(err) || errors.Is(err, ErrVersionRegressed) || errors.Is(err, errVersionReused)
}

// listWithFallbacks lists. If a continue token expires, it lists again from the first page, and at
// last in one piece. If the server refuses resourceVersionMatch, it lists once more without it, and
// if a list could not be read from the stream, once more as the client decodes it.
// Pages of different snapshots are never combined.
func (r *Reflector) listWithFallbacks(ctx context.Context) error {
	for {
		err := r.listFrom(ctx, r.listVersion())
		switch {
		case ctx.Err() != nil:
			return err
		case errors.Is(err, feed.ErrNotSplit): // which the next one will not be
		case errors.Is(err, errMatchRefused):
			r.lists.matchRefusedAt = r.clock.Now()
		case errors.Is(err, errExpiredToken) && r.lists.expiredTokens < maxExpiredTokens:
			r.lists.expiredTokens++
		default:
			return err
		}
	}
}

// listFrom lists at resourceVersion from, page by page, and commits the list.
func (r *Reflector) listFrom(ctx context.Context, from string) error {
	r.status.listing()
	if err := r.awaitListBudget(ctx); err != nil {
		return err
	}
	requested := r.clock.Now()
	watched, stop := r.watchIdle(ctx, polling{timeout: func() time.Duration { return listIdleTimeout }})
	defer stop()
	replacement := r.begin()
	pipeline := newDecodePipeline(replacement, r.proof.listed, r.config.InFlight)
	page, err := r.pages(watched, r.listOptions(from), pipeline.add)
	if err == nil {
		r.listAnswered(requested)
		err = r.checkNotOlder(page.ResourceVersion, from)
	}
	if failed := pipeline.finish(err != nil); err == nil {
		err = failed
	}
	if err != nil {
		err = orCause(watched, err)
		feed.RaisePanic(ctx, err)
		return err
	}
	return r.commitComplete(ctx, replacement, page.ResourceVersion, requested)
}

// commitComplete commits a list whose items are all added to the replacement.
func (r *Reflector) commitComplete(ctx context.Context, list feed.Replacement, version string, requested time.Time) error {
	r.holdInitial()
	err := r.commit(ctx, list, version, r.state == stateConsistentRead, requested)
	feed.RaisePanic(ctx, err)
	return err
}

// holdInitial calls Config.HoldInitial before the first list is committed, unless a server has
// answered. A program that sees the list may write, and a fake does not send changes that were made
// before the watch was open.
func (r *Reflector) holdInitial() {
	if r.config.HoldInitial != nil && r.lists.releaseInitial == nil && r.lists.committedAt.IsZero() && !r.config.Source.Traits().Server {
		r.lists.releaseInitial = r.config.HoldInitial()
	}
}

// watchAnswered records that the source has opened a watch, or refused it.
func (r *Reflector) watchAnswered() {
	if r.lists.releaseInitial != nil {
		r.lists.releaseInitial()
		r.lists.releaseInitial = nil
	}
}

// pages requests the pages of a list and returns the metadata of the last one.
func (r *Reflector) pages(ctx context.Context, options metav1.ListOptions, add func(feed.Item)) (metav1.ListMeta, error) {
	var progress pageProgress
	unversioned := r.isUnversioned()
	for {
		page, err := r.page(ctx, options, func(item feed.Item) error {
			progress.item(item.Key)
			r.received(item, unversioned, add)
			return nil
		})
		if err != nil && options.Continue != "" {
			r.spend() // for this request; the next one waits
		}
		switch {
		case err != nil && options.Continue != "" && isGone(err):
			return page, fmt.Errorf("%w: %w", errExpiredToken, err)
		case options.ResourceVersionMatch != "" && isRefusal(err):
			return page, fmt.Errorf("%w: %w", errMatchRefused, err)
		case err != nil || page.Continue == "":
			return page, err
		}
		r.lists.paged = true
		if err := r.endPage(ctx, &progress, page.Continue); err != nil {
			return page, err
		}
		options.Continue, options.ResourceVersion, options.ResourceVersionMatch = page.Continue, "", ""
	}
}

// received passes on an item of a list.
func (r *Reflector) received(item feed.Item, unversioned bool, add func(feed.Item)) {
	r.active()
	r.lists.received.Add(1)
	if unversioned {
		item.ResourceVersion = "" // which is never compared
	}
	add(item)
}

// endPage records the end of a page that another one follows. If the page was no progress, the next
// one costs a token of the budget.
func (r *Reflector) endPage(ctx context.Context, progress *pageProgress, token string) error {
	r.active()
	isFree, err := progress.endPage(token)
	if isFree {
		return err
	}
	if wait := r.spend(); err == nil {
		err = r.sleep(ctx, wait)
	}
	return err
}

// begin starts a replacement of the sink's content. After the server has regressed, equal
// resourceVersions do not prove that objects are equal; nor do those of an unordered collection, or
// of a source that does not count versions, whose writes need not leave stamps.
func (r *Reflector) begin() feed.Replacement {
	r.lists.received.Store(0)
	r.proof.beginList()
	replacement := r.config.Sink.Begin()
	if isUnordered := r.lists.unordered || r.isUnversioned(); isUnordered || r.state == stateConsistentRead {
		replacement.CompareContents(!isUnordered)
	}
	return replacement
}

// isUnversioned reports whether the source is known not to count versions.
func (r *Reflector) isUnversioned() bool { return r.config.Source.Traits().Unversioned }

// page makes one list request.
func (r *Reflector) page(ctx context.Context, options metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	r.status.update(func(now *Status) { now.Requests.Lists++ })
	meta, err := r.config.Source.List(ctx, options, add)
	err = feed.Shorten(err)
	r.answered(err)
	return meta, err
}

// listOptions returns the options of the first page of a list at resourceVersion from. A version
// and a limit without resourceVersionMatch mean exactly that version (API concepts, "Semantics for
// get and list").
func (r *Reflector) listOptions(from string) metav1.ListOptions {
	options := metav1.ListOptions{ResourceVersion: from, Limit: r.limit(from)}
	if options.Limit > 0 && isNotOlderThan(from) {
		options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	return options
}

// refusesMatch reports whether the server has refused resourceVersionMatch within the last hour. A
// proxy may have, which the next request does not pass.
func (r *Reflector) refusesMatch() bool {
	return !r.lists.matchRefusedAt.IsZero() && r.clock.Since(r.lists.matchRefusedAt) < time.Hour
}

// isNotOlderThan reports whether a list at resourceVersion from is to be not older than a version.
func isNotOlderThan(from string) bool { return from != "" && from != "0" }

// limit returns the page size of a list at resourceVersion from. The API server answers a list not
// older than a version from its watch cache, in one piece; with a limit it may read from etcd. A
// server that has answered in pages without being asked to receives a limit from then on. One whose
// continue tokens expire before the list is complete is asked for one piece, and so is one that
// refuses resourceVersionMatch, which such a list needs together with a limit.
func (r *Reflector) limit(from string) int64 {
	switch size := r.config.PageSize; {
	case size < 0 || r.lists.expiredTokens == maxExpiredTokens || r.refusesMatch() && isNotOlderThan(from):
		return 0
	case size > 0:
		return size
	case !isNotOlderThan(from) || r.lists.paged:
		return DefaultPageSize
	default:
		return 0
	}
}

// commit commits a complete list at version to the sink. The list shows the collection as of
// freshAt or later. If version cannot be compared, the collection is unordered from then on; after
// a list whose version can be, that is an error. It is also an error if version is older than the
// version reached, and the list is not a consistent read. A source that does not count versions has
// neither error.
func (r *Reflector) commit(ctx context.Context, list feed.Replacement, version string, consistentRead bool, freshAt time.Time) error {
	reached := r.version()
	order, err := resourceversion.CompareResourceVersion(version, reached)
	unordered := !r.isUnversioned() && !isValid(version)
	switch {
	case r.isUnversioned():
		version = cmp.Or(version, reached)
	case unordered && !r.lists.unordered && isValid(cmp.Or(reached, r.start.version)):
		return fmt.Errorf("%w: %q", ErrNoVersion, version)
	case err == nil && order < 0 && !consistentRead:
		return fmt.Errorf("%w: %s, after %s", ErrVersionRegressed, version, reached)
	}
	switch {
	case unordered:
		r.proof.listed = nil
	case !consistentRead && !r.isUnversioned():
		if err := r.proof.check(); err != nil {
			return err
		}
	}
	if err := commitTo(list, version); err != nil {
		return err
	}
	r.proof.committed(list, reached)
	r.lists.unordered = unordered
	r.committed(ctx, version, freshAt)
	return nil
}

// checkNotOlder returns an error if a list at version is older than requested, as from a replica
// that lags and does not refuse the request. It returns nil if requested is unset, "0" or not
// valid, or if the source does not count versions.
func (r *Reflector) checkNotOlder(version, requested string) error {
	order, err := resourceversion.CompareResourceVersion(version, requested)
	if err == nil && order < 0 && !r.isUnversioned() {
		return fmt.Errorf("%w: %s, requested %s", ErrVersionRegressed, version, requested)
	}
	return nil
}

// commitTo commits a list. A panic, such as of a store of the program, is a *feed.PanicError.
func commitTo(list feed.Replacement, version string) (err error) {
	defer feed.RecoverPanic("storing a list", &err)
	return list.Commit(version)
}

// isValid reports whether a resourceVersion can be compared with others.
func isValid(version string) bool {
	_, err := resourceversion.CompareResourceVersion(version, version)
	return err == nil
}

// orCause returns the cause that ctx was cancelled with by the watchdog, otherwise err. A panic
// takes precedence.
func orCause(ctx context.Context, err error) error {
	if feed.IsPanic(err) {
		return err
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return err
}
