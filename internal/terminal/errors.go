// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// explainListError returns a one-line error for the failure to list a server's objects. A nil cause
// means that the server has not answered.
func explainListError(noun, server string, cause error) error {
	list := "list " + noun + " of " + server
	switch {
	case cause == nil:
		return fmt.Errorf("%s: no answer within %v", list, firstSyncTimeout)
	case apierrors.IsForbidden(cause):
		return fmt.Errorf("%s: permission denied: %w", list, rootCause(cause))
	case apierrors.IsUnauthorized(cause):
		return fmt.Errorf("%s: credentials rejected: %w", list, rootCause(cause))
	case apierrors.IsNotFound(cause):
		return fmt.Errorf("%s: no such resource, probably not a Kubernetes API server: %w", list, rootCause(cause))
	case isTransportError(cause):
		return fmt.Errorf("connect to %s: %w", server, rootCause(cause))
	}
	return fmt.Errorf("%s: %w", list, cause)
}

// rootCause returns the server's own error or the reason for a failed request, without the text
// about the request.
func rootCause(err error) error {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return status
	}
	if request, ok := errors.AsType[*url.Error](err); ok {
		return request.Err
	}
	return err
}

// isTransportError reports whether a request failed without an answer from the server.
func isTransportError(err error) bool {
	_, ok := errors.AsType[*url.Error](err)
	return ok
}

// isPermanent reports whether a retry is unlikely to succeed.
func isPermanent(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || apierrors.IsBadRequest(err)
}

// Sanitize makes text from other sources safe to print on one line of a terminal. It removes line
// breaks and escape sequences.
func Sanitize(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }), " ")
}
