// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
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

// list lists the collection and commits the list. A consistent read follows at once if the server
// refuses the resourceVersion, or the list is older than the version reached, and after several
// failures at one version. If a continue token expires, the list restarts with its first page.
func (r *Reflector) list(ctx context.Context) error {
	state := r.state
	if r.listFailures%(maxFailures+1) == maxFailures {
		r.state = stateConsistentRead
	}
	err := r.listAgainIfExpired(ctx)
	if r.state != stateConsistentRead && ctx.Err() == nil && (isGone(err) || isFutureVersion(err) || errors.Is(err, ErrVersionRegressed)) {
		r.state, state = stateConsistentRead, stateConsistentRead
		err = r.listAgainIfExpired(ctx)
	}
	if err == nil {
		return nil
	}
	r.state = state
	if !isAuthError(err) && !isBusy(err) && !isUnreachable(err) {
		r.listFailures++
	}
	return &AttemptError{Op: OpList, Err: err}
}

// listAgainIfExpired lists, and lists again while a continue token expires, at most until the list
// was requested in one piece. Pages of different snapshots are never combined.
func (r *Reflector) listAgainIfExpired(ctx context.Context) error {
	for {
		err := r.listFrom(ctx, r.listVersion())
		if !errors.Is(err, errExpiredToken) || r.expiredTokens == maxExpiredTokens || ctx.Err() != nil {
			return err
		}
		r.expiredTokens++
	}
}

// listFrom lists at resourceVersion from, page by page, and commits the list.
func (r *Reflector) listFrom(ctx context.Context, from string) error {
	r.status.listing()
	if err := r.awaitBudget(ctx); err != nil {
		return err
	}
	requested := r.clock.Now()
	watched, stop := r.watchdog(ctx, listIdleTimeout)
	defer stop()
	replacement := r.begin()
	pipeline := newDecodePipeline(replacement, r.config.InFlight)
	page, err := r.pages(watched, metav1.ListOptions{ResourceVersion: from, Limit: r.limit(from)}, pipeline.add)
	if failed := pipeline.finish(err != nil); err == nil {
		err = failed
	}
	if err != nil {
		err = orCause(watched, err)
		feed.RaisePanic(ctx, err)
		return err
	}
	err = r.commit(ctx, replacement, page.ResourceVersion, from == "", requested)
	feed.RaisePanic(ctx, err)
	return err
}

// pages requests the pages of a list and returns the metadata of the last one.
func (r *Reflector) pages(ctx context.Context, options metav1.ListOptions, add func(feed.Item)) (metav1.ListMeta, error) {
	var progress pageProgress
	for {
		page, err := r.page(ctx, options, func(item feed.Item) error {
			r.activity.Add(1)
			r.received.Add(1)
			progress.item(item.Key)
			add(item)
			return nil
		})
		if err != nil && options.Continue != "" {
			r.budget.spend() // this request; the next one waits
		}
		switch {
		case err != nil && options.Continue != "" && isGone(err):
			return page, fmt.Errorf("%w: %w", errExpiredToken, err)
		case err != nil || page.Continue == "":
			return page, err
		}
		r.pagesLists = true
		if err := r.endPage(ctx, &progress, page.Continue); err != nil {
			return page, err
		}
		options.Continue, options.ResourceVersion = page.Continue, ""
	}
}

// endPage records the end of a page that another one follows. If the page had no new object, it
// costs a token of the budget.
func (r *Reflector) endPage(ctx context.Context, progress *pageProgress, token string) error {
	hasNew, err := progress.endPage(token)
	if hasNew {
		return err
	}
	if wait := r.budget.spend(); err == nil {
		err = r.sleep(ctx, wait)
	}
	return err
}

// begin starts a replacement of the sink's content. After the server has regressed, equal
// resourceVersions do not prove that objects are equal.
func (r *Reflector) begin() feed.Replacement {
	r.received.Store(0)
	replacement := r.config.Sink.Begin()
	if r.state == stateConsistentRead {
		replacement.CompareContents()
	}
	return replacement
}

// page makes one list request.
func (r *Reflector) page(ctx context.Context, options metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	r.status.countList()
	meta, err := r.config.Source.List(ctx, options, add)
	err = feed.Shorten(err)
	r.answered(err)
	return meta, err
}

// limit returns the page size of a list at resourceVersion from. The API server answers a list not
// older than a version from its watch cache, in one piece; with a limit it would read from etcd. A
// server that has answered in pages without being asked to receives a limit from then on. One whose
// continue tokens expire before the list is complete is asked for one piece.
func (r *Reflector) limit(from string) int64 {
	switch size := r.config.PageSize; {
	case size < 0 || r.expiredTokens == maxExpiredTokens:
		return 0
	case size > 0:
		return size
	case from == "" || from == "0" || r.pagesLists:
		return DefaultPageSize
	default:
		return 0
	}
}

// commit commits a complete list at version to the sink, which was the state of the collection at
// or after the time freshAt. It returns an error if version is not valid, or regressed without a
// consistent read.
func (r *Reflector) commit(ctx context.Context, list feed.Replacement, version string, consistentRead bool, freshAt time.Time) error {
	reached := r.version()
	order, err := resourceversion.CompareResourceVersion(version, reached)
	switch {
	case reached == "":
		// The first list may have any version; those of client-go's fake clientsets have none.
	case err != nil && isValid(reached):
		return fmt.Errorf("%w: %q", ErrNoVersion, version)
	case err == nil && order < 0 && !consistentRead:
		return fmt.Errorf("%w: %s, after %s", ErrVersionRegressed, version, reached)
	}
	if err := commitTo(list, version); err != nil {
		return err
	}
	r.committed(ctx, version, freshAt)
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
