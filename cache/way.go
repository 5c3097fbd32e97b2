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
	givenUp   bool   // not streaming: it was tried, and what comes cannot be cut
}

// Why a source does not stream.
const (
	whyForeign = "the ListerWatcher's own functions may change what the server answers; set ListWatch.Streaming if they do not"
	whyNoTap   = "the client has no tap; call EnableStreaming on its config"
	whyNoKind  = "the server says the kind of a list's objects only behind them; give the example apiVersion and kind"
	whyNoName  = "the objects' kind is not called as their Go type"
)

// took notes how the answer to a request came, which ended with err or nil, and
// logs a change.
func (w *way) took(ctx context.Context, answer tap.Response, err error) {
	why := ""
	switch {
	case answer.Consumed:
	case !answer.Intercepted && err == nil:
		why = whyNoTap
	case answer.StatusCode != http.StatusOK: // no answer to speak of
		return
	case answer.Encoding != "":
		why = fmt.Sprintf("the server's answer comes with Content-Encoding %q, which the transport leaves as it is", answer.Encoding)
	default:
		why = fmt.Sprintf("the server answered with Content-Type %q", answer.ContentType)
	}
	if w.set(answer.Consumed, why) {
		logWay(klog.FromContext(ctx), answer.Consumed, why)
	}
}

// cuts notes that an answer is being cut, before anything of it is known to anybody.
func (w *way) cuts(logger klog.Logger) {
	if w.set(true, "") {
		logWay(logger, true, "")
	}
}

// giveUp ends the streaming: a request has shown that it cannot work, for a reason
// that will not change.
func (w *way) giveUp(ctx context.Context, why string) {
	w.set(false, why)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.givenUp = true
	logWay(klog.FromContext(ctx), false, why)
}

func (w *way) hasGivenUp() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.givenUp
}

func logWay(logger klog.Logger, streaming bool, why string) {
	logger.V(2).Info("Reading lists and watches", "streaming", streaming, "reason", why)
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
