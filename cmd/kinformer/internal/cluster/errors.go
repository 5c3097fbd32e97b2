package cluster

import (
	"errors"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// rootCause returns the reason for a failed request, without the text about the request.
func rootCause(err error) error {
	if request, ok := errors.AsType[*url.Error](err); ok {
		return request.Err
	}
	return err
}

// asStatus reports whether err is an error of the API, and sets status to it.
func asStatus(err error, status *apierrors.APIStatus) bool { return errors.As(err, status) }
