package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/reflector"
)

// Errors of the life of informers and reflectors, to be told with errors.Is.
var (
	// ErrAlreadyRunning is returned by a Run while another is under way.
	ErrAlreadyRunning = informer.ErrAlreadyRunning
	// ErrStopped is returned by a Run after another has returned, by waits on an
	// informer that has stopped, and to who adds a handler to it.
	ErrStopped = informer.ErrStopped
	// ErrHandlerBlocked is returned by Run when a handler's call did not return
	// within ten seconds of the context's end, and by Registration.Stop. The call goes
	// on.
	ErrHandlerBlocked = informer.ErrHandlerBlocked
)

// Errors that an ErrorHandler may hear of, to be told with errors.Is. Those of
// the API server come as they are: apierrors.IsForbidden and its like tell them.
var (
	// ErrStale: the watch sent an event older than what was seen before it.
	ErrStale = reflector.ErrStale
	// ErrWentBack: the server is at an older resourceVersion than it was.
	ErrVersionRegressed = reflector.ErrVersionRegressed
	// ErrSilent: nothing came for longer than a living server is silent.
	ErrStalled = reflector.ErrStalled
	// ErrShortWatches: the server ended several watches at once.
	ErrShortWatches = reflector.ErrShortWatches
	// ErrNoVersion: a list or an event without a valid resourceVersion.
	ErrNoVersion = reflector.ErrNoVersion
	// ErrQuarantined: the collection is listed again for the sake of objects that
	// could not be stored.
	ErrQuarantined = reflector.ErrQuarantined
)

// ObjectError is what went wrong with one object: it could not be decoded,
// indexed or stored. Its last good state stays in the cache.
type ObjectError struct {
	Key string // empty where not even that could be read
	Err error
}

// Error names the object.
func (e *ObjectError) Error() string { return fmt.Sprintf("object %q: %v", e.Key, e.Err) }

// Unwrap returns the cause.
func (e *ObjectError) Unwrap() error { return e.Err }

// HandlerError is a panic of a handler.
type HandlerError struct {
	Handler string
	Key     string // of the object it was told of; of a batch, the first
	Panic   any    // what it panicked with
}

// Error names the handler and the object.
func (e *HandlerError) Error() string {
	return fmt.Sprintf("handler %q panicked on object %q: %v", e.Handler, e.Key, e.Panic)
}

// Unwrap returns the panic if it is an error.
func (e *HandlerError) Unwrap() error {
	err, _ := e.Panic.(error)
	return err
}

// ErrorHandler hears of everything that goes wrong: of each failed attempt to
// list or watch, of each object that could not be stored (as an *ObjectError), and of
// each panic of a handler (as a *HandlerError).
// It is called from the informer's goroutine, which waits for it, and sometimes
// from a reader's.
type ErrorHandler func(ctx context.Context, err error)

// errorLog is the usual ErrorHandler: it logs, and the same again only after a
// while.
type errorLog struct {
	clock clock.PassiveClock

	mu     sync.Mutex // guards what follows
	last   string
	logged time.Time
}

// repeatAfter is how long an error is not logged again while it stays the same.
const repeatAfter = 5 * time.Minute

func (l *errorLog) handle(ctx context.Context, err error) {
	if _, ok := errors.AsType[*HandlerError](err); ok { // logged with its trace where it was caught
		return
	}
	var object *ObjectError
	switch isObject := errors.As(err, &object); {
	case isObject && l.news(err.Error()):
		klog.FromContext(ctx).Error(object.Err, "Object kept out of the cache", "object", object.Key)
	case !isObject && l.news(withoutNumbers(err.Error())):
		klog.FromContext(ctx).Error(err, "Failed to list or watch, will retry")
	}
}

// withoutNumbers makes errors of one cause alike: each attempt has another timeout
// in its URL, another port of its own, perhaps another version.
func withoutNumbers(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, text)
}

func (l *errorLog) news(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if text == l.last && now.Sub(l.logged) < repeatAfter {
		return false
	}
	l.last, l.logged = text, now
	return true
}
