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

// The errors below are those that informers meet most, as a real server words them. Any other error can be put into a [Fault] as well.

// Expired is 410: the version that was asked for is forgotten.
func Expired() error {
	return apierrors.NewResourceExpired("too old resource version: 1 (2)")
}

// TooLargeResourceVersion is 504: the version that was asked for has not been reached.
func TooLargeResourceVersion() error {
	return history.TooLarge(2, 1)
}

// TooManyRequests is 429 with a Retry-After in seconds; 0 leaves it out.
func TooManyRequests(retryAfterSeconds int) error {
	return apierrors.NewTooManyRequests("the server has received too many requests and has asked us to try again later", retryAfterSeconds)
}

// InternalError is 500.
func InternalError() error {
	return apierrors.NewInternalError(errors.New("etcdserver: leader changed"))
}

// Forbidden is 403.
func Forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", fmt.Errorf("%s %q cannot list resource %q in API group %q at the cluster scope", "User", "test", "pods", ""))
}

// ErrorEvent returns the ERROR event that carries an error. One that is no API error becomes a 500.
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
