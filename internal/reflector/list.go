package reflector

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinformer/kinformer/internal/feed"
)

// list lists the collection and commits the list. If the server refuses the resourceVersion, or the
// list is older than the version reached, a consistent read follows at once.
func (r *Reflector) list(ctx context.Context) error {
	from := r.listVersion()
	err := r.listFrom(ctx, from)
	if from != "" && ctx.Err() == nil && (isGone(err) || isFutureVersion(err) || errors.Is(err, ErrVersionRegressed)) {
		r.state = stateConsistentRead
		err = r.listFrom(ctx, "")
	}
	if err != nil {
		return &AttemptError{Op: OpList, Err: err}
	}
	return nil
}

// listFrom lists at resourceVersion from, page by page, and commits the list.
func (r *Reflector) listFrom(ctx context.Context, from string) error {
	r.status.listing()
	watched, stop := r.watchdog(ctx, listIdleTimeout)
	defer stop()
	replacement := r.begin()
	pipeline := newDecodePipeline(replacement)
	options := metav1.ListOptions{ResourceVersion: from, Limit: r.limit(from)}
	for {
		page, err := r.page(watched, options, func(item feed.Item) error {
			r.activity.Add(1)
			pipeline.add(item)
			return nil
		})
		if err != nil {
			pipeline.finish(true)
			return orCause(watched, err)
		}
		if page.Continue == "" {
			pipeline.finish(false)
			return r.commit(ctx, replacement, page.ResourceVersion, from == "")
		}
		r.pagesLists = true
		options.Continue, options.ResourceVersion = page.Continue, ""
	}
}

// begin starts a replacement of the sink's content. After the server has regressed, equal
// resourceVersions do not prove that objects are equal.
func (r *Reflector) begin() feed.Replacement {
	replacement := r.config.Sink.Begin()
	if r.state == stateConsistentRead {
		replacement.CompareContents()
	}
	return replacement
}

// page makes one list request.
func (r *Reflector) page(ctx context.Context, options metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	r.status.countList()
	return r.config.Source.List(ctx, options, add)
}

// limit returns the page size of a list at resourceVersion from. The API server answers a list not
// older than a version from its watch cache, in one piece; with a limit it would read from etcd. A
// server that has answered in pages without being asked to receives a limit from then on.
func (r *Reflector) limit(from string) int64 {
	switch size := r.config.PageSize; {
	case size < 0:
		return 0
	case size > 0:
		return size
	case from == "" || from == "0" || r.pagesLists:
		return DefaultPageSize
	default:
		return 0
	}
}

// commit commits a complete list at version to the sink. It returns an error if version is not
// valid, or regressed without a consistent read.
func (r *Reflector) commit(ctx context.Context, list feed.Replacement, version string, consistentRead bool) error {
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
	if err := list.Commit(version); err != nil {
		return err
	}
	r.committed(ctx, version)
	return nil
}

// isValid reports whether a resourceVersion can be compared with others.
func isValid(version string) bool {
	_, err := resourceversion.CompareResourceVersion(version, version)
	return err == nil
}

// orCause returns the cause that ctx was cancelled with by the watchdog, otherwise err.
func orCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return err
}
