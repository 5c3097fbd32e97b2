package reflector

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinformer/kinformer/internal/feed"
)

// list gets a state of the collection and commits it. A version that the server
// does not have (gone, or not reached) is given up at once for a consistent
// read; so is a state older than one already seen.
func (r *Reflector) list(ctx context.Context) error {
	from := r.version()
	switch {
	case r.consistent:
		from = ""
	case from == "":
		from = "0" // any state will do to begin with
	}
	err := r.listFrom(ctx, from)
	if from != "" && ctx.Err() == nil && (isGone(err) || isAhead(err) || errors.Is(err, ErrVersionRegressed)) {
		r.consistent = true
		err = r.listFrom(ctx, "")
	}
	return err
}

// listFrom lists at or after a version, page by page.
func (r *Reflector) listFrom(ctx context.Context, from string) error {
	r.status.listing()
	ctx, stop := r.watchdog(ctx, listSilence)
	defer stop()
	state := r.begin()
	items := newAhead(state)
	options := metav1.ListOptions{ResourceVersion: from, Limit: r.limit(from)}
	for {
		page, err := r.page(ctx, options, func(item feed.Item) error {
			r.proofs.Add(1)
			items.add(item)
			return nil
		})
		if err != nil {
			items.finish(true)
			return fmt.Errorf("list: %w", orCause(ctx, err))
		}
		if page.Continue == "" {
			items.finish(false)
			return r.commitList(state, page.ResourceVersion, from == "")
		}
		r.paged = true
		options.Continue, options.ResourceVersion = page.Continue, ""
	}
}

// begin begins a new state. Where the server has gone back in time, what the sink holds
// says nothing about objects in the same version.
func (r *Reflector) begin() feed.Replacement {
	state := r.config.Sink.Begin()
	if r.consistent {
		state.CompareContents()
	}
	return state
}

// page makes one list request.
func (r *Reflector) page(ctx context.Context, options metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	r.status.listed()
	return r.config.Source.List(ctx, options, add)
}

// limit returns the page size for a list from a version. A list at a version is
// answered whole from the server's watch cache; asking for pages would send it to
// etcd. Servers that paged all the same keep being asked.
func (r *Reflector) limit(from string) int64 {
	switch size := r.config.PageSize; {
	case size < 0:
		return 0
	case size > 0:
		return size
	case from == "" || from == "0" || r.paged:
		return DefaultPageSize
	default:
		return 0
	}
}

// commitList makes a complete list the sink's state, if it can be believed.
func (r *Reflector) commitList(state feed.Replacement, version string, consistent bool) error {
	seen := r.version()
	order, err := resourceversion.CompareResourceVersion(version, seen)
	switch {
	case seen == "":
		// Nothing to compare with; client-go's fake clientsets give no version.
	case err != nil && wellFormed(seen):
		return fmt.Errorf("list: %w: %q", ErrNoVersion, version)
	case err == nil && order < 0 && !consistent:
		return fmt.Errorf("list: %w: %s, after %s", ErrVersionRegressed, version, seen)
	}
	if err := state.Commit(version); err != nil {
		return fmt.Errorf("list: %w", err)
	}
	r.committed(version)
	return nil
}

func wellFormed(version string) bool {
	_, err := resourceversion.CompareResourceVersion(version, version)
	return err == nil
}

// orCause returns why ctx ended, if it was ended with a cause of ours, else err.
func orCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return err
}
