// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var podResource = schema.GroupResource{Resource: "pods"}

// TestErrorClasses checks the classes of errors, unwrapped and wrapped.
func TestErrorClasses(t *testing.T) {
	classes := map[string]func(error) bool{
		"gone": isGone, "future": isFutureVersion, "auth": isAuthError, "busy": isBusy, "server": isServerError,
		"unreachable": isUnreachable, "down": isDown, "broken": isBroken, "unsupported": isUnsupported,
	}
	status := func(code int, reason metav1.StatusReason, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message}}
	}
	tooLarge := apierrors.NewTimeoutError("any message", 1)
	tooLarge.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	tooLargeInCause := apierrors.NewTimeoutError("any message", 1)
	tooLargeInCause.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "Too large resource version"}}
	for _, c := range []struct {
		err  error
		want string
	}{
		{apierrors.NewResourceExpired("old"), "gone"},
		{status(http.StatusGone, metav1.StatusReasonGone, "old"), "gone"},
		{tooLarge, "future busy server"},
		{tooLargeInCause, "future busy server"},
		{apierrors.NewTimeoutError("Too large resource version: 9, current: 8", 1), "future busy server"},
		{status(http.StatusInternalServerError, metav1.StatusReasonInternalError, "Too large resource version: 9"), "server"},
		{apierrors.NewUnauthorized("token expired"), "auth"},
		{apierrors.NewForbidden(podResource, "", nil), "auth"},
		{apierrors.NewTooManyRequestsError("later"), "busy"},
		{apierrors.NewServiceUnavailable("later"), "busy server"},
		{apierrors.NewServerTimeout(podResource, "list", 1), "busy server"},
		{apierrors.NewInternalError(errors.New("oops")), "server"},
		{apierrors.NewBadRequest("unknown field"), "unsupported"},
		{apierrors.NewInvalid(schema.GroupKind{}, "", nil), "unsupported"},
		{apierrors.NewMethodNotSupported(podResource, "watch"), "unsupported"},
		{apierrors.NewNotFound(podResource, ""), ""},
		{syscall.ECONNREFUSED, "unreachable down"},
		{syscall.ECONNRESET, "unreachable down broken"},
		{io.ErrUnexpectedEOF, "unreachable down broken"},
		{io.EOF, "unreachable down broken"},
		{errClosedByBalancer, "unreachable down broken"},
		{&net.OpError{Op: "dial", Err: errors.New("no route to host")}, "unreachable down"},
		{&net.OpError{Op: "dial", Err: syscall.ECONNRESET}, "unreachable down"},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, "unreachable down broken"},
		{errDialTimeout, "unreachable down"},
		{&url.Error{Op: "Get", Err: errors.New("x509: unknown authority")}, "unreachable down"},
		{&url.Error{Op: "Get", Err: context.DeadlineExceeded}, "unreachable"},
		{context.DeadlineExceeded, "unreachable"},
		{ErrStalled, "unreachable"},
		{ErrStale, ""},
		{ErrNoVersion, ""},
		{errors.New("other"), ""},
	} {
		for _, err := range []error{c.err, fmt.Errorf("watch: %w", c.err)} {
			var got []string
			for _, class := range []string{"gone", "future", "auth", "busy", "server", "unreachable", "down", "broken", "unsupported"} {
				if classes[class](err) {
					got = append(got, class)
				}
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("classes of %v are [%s], want [%s]", err, got, c.want)
			}
		}
	}
}
