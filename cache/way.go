package cache

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/tap"
)

// way is how a source's answers come: cut from the stream, or decoded whole by
// the client, and then why.
type way struct {
	mu        sync.Mutex // guards the rest
	streaming bool
	why       string // not streaming; empty before the first answer
}

// Why a source does not stream.
const (
	whyForeign = "the ListerWatcher's own functions may change what the server answers; set ListWatch.Streaming if they do not"
	whyNoTap   = "the client has no tap; call EnableStreaming on its config"
)

// took notes how an answer came, and logs a change.
func (w *way) took(ctx context.Context, answer tap.Answer) {
	streaming, why := answer.Taken, ""
	switch {
	case answer.Taken:
	case answer.StatusCode == 0:
		why = whyNoTap
	case answer.StatusCode == http.StatusOK:
		why = fmt.Sprintf("the server answered with Content-Type %q", answer.ContentType)
	default: // no answer to speak of
		return
	}
	if w.set(streaming, why) {
		klog.FromContext(ctx).V(2).Info("Reading lists and watches", "streaming", streaming, "reason", why)
	}
}

// set tells whether that is a change.
func (w *way) set(streaming bool, why string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := streaming != w.streaming || why != w.why
	w.streaming, w.why = streaming, why
	return changed
}

// get returns the way of the last answer.
func (w *way) get() (streaming bool, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.streaming, w.why
}
