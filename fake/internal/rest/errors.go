package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// statusOf returns the Status that an error is answered with; one that is no API error becomes a 500.
func statusOf(err error) *metav1.Status {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		api = apierrors.NewInternalError(err)
	}
	status := api.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	return &status
}

func notAcceptable(supported []string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusNotAcceptable,
		Reason:  metav1.StatusReasonNotAcceptable,
		Message: "only the following media types are accepted: " + strings.Join(supported, ", "),
	}}
}

func unsupportedMediaType(got string, supported []string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusUnsupportedMediaType,
		Reason:  metav1.StatusReasonUnsupportedMediaType,
		Message: fmt.Sprintf("the body of the request was in an unknown format (%s) - accepted media types include: %s", got, strings.Join(supported, ", ")),
	}}
}

func unknownSubresource() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusNotFound,
		Reason:  metav1.StatusReasonNotFound,
		Message: "the server could not find the requested resource",
		Details: &metav1.StatusDetails{},
	}}
}

func setRetryAfter(header http.Header, seconds int32) {
	header.Set("Retry-After", strconv.Itoa(int(seconds)))
}

// logFailure reports that an answer could not be written. A client that has gone away is no failure.
func logFailure(r *http.Request, err error) {
	if r.Context().Err() == nil {
		klog.FromContext(r.Context()).Error(err, "Cannot answer a request", "method", r.Method, "path", r.URL.Path)
	}
}
