package reflector

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Why a stream was dropped, or a list not believed.
var (
	// ErrStale: an event older than what was seen already.
	ErrStale = errors.New("the watch went back to a resourceVersion that was passed already")
	// ErrWentBack: the server is at an older version than the one seen from it.
	ErrVersionRegressed = errors.New("the server is at an older resourceVersion than it was")
	// ErrSilent: nothing came for longer than a living server would be silent.
	ErrStalled = errors.New("no answer within the deadline; the connection is taken for dead")
	// ErrShortWatches: the server accepts watches and ends them at once.
	ErrShortWatches = errors.New("the server repeatedly ended the watch at once and without an event")
	// ErrNoVersion: a list or event that does not say its version.
	ErrNoVersion = errors.New("the server sent no valid resourceVersion")
	// ErrQuarantined: objects wait for a state that can be stored.
	ErrQuarantined = errors.New("some objects could not be stored")
)

// retryAfter returns how long the server asked to wait, zero if it did not.
func retryAfter(err error) time.Duration {
	seconds, ok := apierrors.SuggestsClientDelay(err)
	if !ok || seconds <= 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}

// isGone tells whether the server no longer has the version asked for.
func isGone(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// isAhead tells whether the server has not reached the version asked for. Old
// servers give the cause in the message only (kubernetes/kubernetes#94316).
func isAhead(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) ||
		apierrors.IsTimeout(err) && strings.Contains(err.Error(), "Too large resource version")
}

// isDenied tells whether the server refuses this client.
func isDenied(err error) bool { return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) }

// isBusy tells whether the server could not answer now: what was seen of the
// collection is not in doubt.
func isBusy(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err)
}

// isServerError tells whether the server failed on its own account.
func isServerError(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError
}

// isUnknown tells whether the server does not understand a request, and never will.
func isUnknown(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsMethodNotSupported(err) || apierrors.IsNotAcceptable(err)
}

// isUnreachable tells whether the connection failed, not the request.
func isUnreachable(err error) bool {
	var request *url.Error // whatever net/http could not get an answer to: no such host, no trust
	var operation *net.OpError
	return errors.As(err, &request) || errors.As(err, &operation) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrStalled) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) ||
		utilnet.IsTimeout(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// watchError is an error of a watch.
type watchError struct{ cause error }

func (e *watchError) Error() string { return "watch: " + e.cause.Error() }
func (e *watchError) Unwrap() error { return e.cause }

// Unwrapped returns the error that a watch ended with as it came, any other as it is.
func UnwrapWatchError(err error) error {
	if watched, ok := errors.AsType[*watchError](err); ok {
		return watched.cause
	}
	return err
}
