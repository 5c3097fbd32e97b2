package reflector

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxWatchLists is how many WatchLists may end before their end bookmark until
// the source is taken for one that does not send it.
const maxWatchLists = 2

// watchList gets the initial state by a watch and follows on in the same stream.
// It returns how the stream ended once it brought the whole state; nil if the
// collection must be listed instead, because the source does not know WatchList,
// never comes to its end, or fails, in which case a list may fare better; or an
// end with ctx's error.
func (r *Reflector) watchList(ctx context.Context) *end {
	early := 0
	for {
		r.status.listing()
		last := r.watchOnce(ctx, r.begin())
		switch {
		case last.listed:
			return &last
		case ctx.Err() != nil:
			return &end{err: ctx.Err()}
		case apierrors.IsTooManyRequests(last.err): // it knows WatchList and is busy
		case errors.Is(last.err, ErrStalled):
			early = maxWatchLists
		case last.err == nil:
			early++
		default:
			r.noWatchList = isUnknown(last.err)
			return nil
		}
		if early >= maxWatchLists {
			r.noWatchList = true
			r.failed(ctx, fmt.Errorf("WatchList brought no end of the initial state (%w); listing instead", cause(last)))
			return nil
		}
		r.failed(ctx, fmt.Errorf("WatchList: %w", cause(last)))
		if err := r.pause(ctx, last.err); err != nil {
			return &end{err: err}
		}
	}
}

// errEndedEarly is what a WatchList failed with that the server closed in order.
var errEndedEarly = errors.New("the stream ended before its end bookmark")

func cause(last end) error {
	if last.err != nil {
		return last.err
	}
	return errEndedEarly
}
