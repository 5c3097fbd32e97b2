// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// The functions below return the errors that informers meet most often, with the messages of
// kube-apiserver. A [Fault] accepts any other error too.

// Expired returns a 410 Expired error: the requested resourceVersion is no longer in the history.
func Expired() error {
	return apierrors.NewResourceExpired("too old resource version: 1 (2)")
}

// TooLargeResourceVersion returns a 504 Timeout error with the cause ResourceVersionTooLarge: the
// server has not reached the requested resourceVersion.
func TooLargeResourceVersion() error {
	return history.TooLarge(2, 1)
}

// TooManyRequests returns a 429 TooManyRequests error with the given Retry-After, in seconds. With
// 0, the error has no Retry-After.
func TooManyRequests(retryAfterSeconds int) error {
	return apierrors.NewTooManyRequests("the server has received too many requests and has asked us to try again later", retryAfterSeconds)
}

// InternalError returns a 500 InternalError error.
func InternalError() error {
	return apierrors.NewInternalError(errors.New("etcdserver: leader changed"))
}

// Forbidden returns a 403 Forbidden error for a list of Pods. Its text says so for whatever request
// it is injected into; use apierrors.NewForbidden for another one.
func Forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "",
		fmt.Errorf("%s %q cannot list resource %q in API group %q at the cluster scope", "User", "test", "pods", ""))
}

// ErrorEvent returns an ERROR event with the Status of err. An err that is not an API error becomes
// a 500 InternalError with err's message.
func ErrorEvent(err error) watch.Event {
	if api := apierrors.APIStatus(nil); errors.As(err, &api) {
		status := api.Status()
		return watch.Event{Type: watch.Error, Object: &status}
	}
	return watch.Event{Type: watch.Error, Object: &metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusInternalServerError,
		Reason:  metav1.StatusReasonInternalError,
		Message: err.Error(),
	}}
}
