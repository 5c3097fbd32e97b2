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

// Each error is of the classes named, however it is wrapped.
func TestErrorClasses(t *testing.T) {
	classes := map[string]func(error) bool{
		"gone": isGone, "ahead": isAhead, "denied": isDenied, "busy": isBusy, "server": isServerError, "unreachable": isUnreachable, "unknown": isUnknown,
	}
	status := func(code int, reason metav1.StatusReason, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message}}
	}
	tooLarge := apierrors.NewTimeoutError("any words", 1)
	tooLarge.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	for _, c := range []struct {
		err  error
		want string
	}{
		{apierrors.NewResourceExpired("old"), "gone"},
		{status(http.StatusGone, metav1.StatusReasonGone, "old"), "gone"},
		{tooLarge, "ahead busy server"},
		{apierrors.NewTimeoutError("Too large resource version: 9, current: 8", 1), "ahead busy server"},
		{status(http.StatusInternalServerError, metav1.StatusReasonInternalError, "Too large resource version: 9"), "server"},
		{apierrors.NewUnauthorized("who"), "denied"},
		{apierrors.NewForbidden(podResource, "", nil), "denied"},
		{apierrors.NewTooManyRequestsError("later"), "busy"},
		{apierrors.NewServiceUnavailable("later"), "busy server"},
		{apierrors.NewServerTimeout(podResource, "list", 1), "busy server"},
		{apierrors.NewInternalError(errors.New("oops")), "server"},
		{apierrors.NewBadRequest("what"), "unknown"},
		{apierrors.NewInvalid(schema.GroupKind{}, "", nil), "unknown"},
		{apierrors.NewMethodNotSupported(podResource, "watch"), "unknown"},
		{apierrors.NewNotFound(podResource, ""), ""},
		{syscall.ECONNREFUSED, "unreachable"},
		{syscall.ECONNRESET, "unreachable"},
		{io.ErrUnexpectedEOF, "unreachable"},
		{io.EOF, "unreachable"},
		{&net.OpError{Op: "dial", Err: errors.New("no route to host")}, "unreachable"},
		{&url.Error{Op: "Get", Err: errors.New("x509: unknown authority")}, "unreachable"},
		{context.DeadlineExceeded, "unreachable"},
		{ErrStalled, "unreachable"},
		{ErrStale, ""},
		{ErrNoVersion, ""},
		{errors.New("unheard of"), ""},
	} {
		for _, err := range []error{c.err, fmt.Errorf("watch: %w", c.err)} {
			var is []string
			for _, class := range []string{"gone", "ahead", "denied", "busy", "server", "unreachable", "unknown"} {
				if classes[class](err) {
					is = append(is, class)
				}
			}
			if got := strings.Join(is, " "); got != c.want {
				t.Errorf("%v is [%s], want [%s]", err, got, c.want)
			}
		}
	}
}
