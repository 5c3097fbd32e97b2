// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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

// statusOf returns the Status for an error. An error that is not an API error has the code 500.
func statusOf(err error) *metav1.Status {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		api = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}}
	}
	status := api.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	return &status
}

// failure returns an API error.
func failure(code int32, reason metav1.StatusReason, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

func noAcceptableType(supported []string) error {
	return notAcceptable("only the following media types are accepted: " + strings.Join(supported, ", "))
}

func notAcceptable(message string) error {
	return failure(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, message)
}

func unsupportedMediaType(got string, supported []string) error {
	return failure(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		fmt.Sprintf("the body of the request was in an unknown format (%s) - accepted media types include: %s", got, strings.Join(supported, ", ")))
}

func methodNotAllowed() error {
	err := failure(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "the server does not allow this method on the requested resource")
	err.ErrStatus.Details = &metav1.StatusDetails{}
	return err
}

func notFound() error {
	err := failure(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	err.ErrStatus.Details = &metav1.StatusDetails{}
	return err
}

func setRetryAfter(header http.Header, seconds int32) {
	header.Set("Retry-After", strconv.Itoa(int(seconds)))
}

// logFailure logs an error of writing an answer, unless the client has disconnected.
func logFailure(r *http.Request, err error) {
	if r.Context().Err() == nil {
		klog.FromContext(r.Context()).Error(err, "Failed to answer request", "method", r.Method, "path", r.URL.Path)
	}
}
