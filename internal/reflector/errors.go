// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/served"
)

// Reasons to end a watch, to reject a list, or to list again.
var (
	// ErrStale reports a watch event that is not newer than one received before, and that the sink
	// does not hold. Watch events arrive in the order of their resourceVersions (API concepts,
	// "Efficient detection of changes").
	ErrStale = errors.New("watch event is not newer than an earlier one")
	// ErrVersionRegressed reports a list or bookmark with an older resourceVersion than the server
	// has sent before: the server lags behind another replica, or etcd was restored from a backup.
	ErrVersionRegressed = errors.New("server is at an older resourceVersion than before")
	// ErrHistoryChanged reports a resumed watch in which the server did not repeat the last changes
	// as it had sent them before: etcd was restored from a backup, or the server lost events.
	ErrHistoryChanged = errors.New("server does not repeat the last changes")
	// ErrStalled reports a list or watch that received nothing within its idle timeout. Its
	// connection is treated as dead. A working API server sends bookmarks to a quiet watch about
	// once a minute (API concepts, "Watch bookmarks").
	ErrStalled = errors.New("nothing received within the idle timeout")
	// ErrShortWatches reports that the server accepted several watches in a row and closed each
	// within a second, before any event.
	ErrShortWatches = errors.New("server repeatedly closed the watch at once and without an event")
	// ErrNoVersion reports a list or event without a resourceVersion that can be compared with
	// others.
	ErrNoVersion = feed.ErrNoVersion
	// ErrQuarantined reports a relist that retries objects whose newest state the sink could not
	// store.
	ErrQuarantined = errors.New("some objects could not be stored")
)

// retryAfter returns the delay that the server asked for in err, at most served.MaxRetryAfter. It
// returns zero if the server asked for none.
func retryAfter(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return min(max(0, time.Duration(seconds)*time.Second), served.MaxRetryAfter)
}

// isGone reports whether the server no longer has the requested resourceVersion: 410 Gone, reason
// Expired or Gone (API concepts, "410 Gone responses").
func isGone(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// isFutureVersion reports whether the server has not reached the requested resourceVersion: 504
// Timeout with the cause ResourceVersionTooLarge (API concepts, "Unavailable resource versions").
// Old servers say so in the message of the error, or of a cause (kubernetes/kubernetes#94316).
func isFutureVersion(err error) bool {
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsTimeout(err) || !errors.As(err, &status) {
		return false
	}
	messages := []string{status.Status().Message}
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			messages = append(messages, cause.Message)
		}
	}
	return slices.ContainsFunc(messages, func(m string) bool { return strings.Contains(m, "Too large resource version") })
}

// isAuthError reports whether the server refused the client's credentials or permissions: 401 or
// 403.
func isAuthError(err error) bool { return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) }

// isBusy reports whether the server could not answer at the moment: 429, 503 or a timeout. That
// does not put the state of the collection in doubt.
func isBusy(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err)
}

// asksToWait reports whether the server could not answer at the moment, or asked for a delay.
func asksToWait(err error) bool { return isBusy(err) || retryAfter(err) > 0 }

// isServerError reports whether the server answered with a 5xx code.
func isServerError(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError
}

// isUnsupported reports whether the server does not support the form of the request, so that it
// fails again: 400, 405, 406 or 422.
func isUnsupported(err error) bool {
	return isRefusal(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsNotAcceptable(err)
}

// isRefusal reports whether the server did not accept the options of the request: 400 or 422.
func isRefusal(err error) bool { return apierrors.IsBadRequest(err) || apierrors.IsInvalid(err) }

// isUnreachable reports whether the connection failed rather than the request.
func isUnreachable(err error) bool {
	var request *url.Error // net/http received no response; covers DNS and TLS failures
	var operation *net.OpError
	return errors.As(err, &request) || errors.As(err, &operation) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrStalled) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) ||
		utilnet.IsTimeout(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// isDown reports whether the connection to the server failed, so that err says nothing of the
// request. A timeout may be due to the request, unless no connection was made.
func isDown(err error) bool {
	return isUnreachable(err) && (isDialError(err) || !utilnet.IsTimeout(err) && !errors.Is(err, ErrStalled))
}

// isDialError reports whether no connection was made.
func isDialError(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && operation.Op == "dial"
}

// isBroken reports whether a connection was made, and broke.
func isBroken(err error) bool {
	return !isDialError(err) && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err))
}
