// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrEnded reports that the server was restored from a backup or no longer serves the resource. The
// caller must close the watch stream without an ERROR event.
var ErrEnded = errors.New("watch ended: server restored from a backup, or resource no longer served")

// errContinueExpired is the exact text of the real server, because some clients compare it.
const errContinueExpired = "The provided continue parameter is too old to display a consistent list result. " +
	"You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. " +
	"Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first " +
	"chunk was returned and now may show up in the list."

// expired returns the error 410 Expired for a watch at a version that the log no longer covers.
func expired(version, floor uint64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", version, floor))
}

// TooLarge returns the error 504 Timeout for a version that the server has not reached. It asks the
// client to retry after a second, as a lagging replica does.
func TooLarge(wanted, current uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", wanted, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	err.ErrStatus.Code = http.StatusGatewayTimeout
	return err
}

// continueExpired returns the error 410 Expired for a continue token at a version that the log no
// longer covers. The error carries a new token, which continues the list inconsistently at the
// current version.
func continueExpired(start string) error {
	err := apierrors.NewResourceExpired(errContinueExpired)
	err.ErrStatus.Continue = encodeToken(token{Version: anyVersion, Start: start})
	return err
}
