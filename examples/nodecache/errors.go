package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// explain says in one sentence why a server's nodes could not be listed. A nil
// cause is a server that does not answer.
func explain(server string, cause error) error {
	switch {
	case cause == nil:
		return fmt.Errorf("%s has not answered within %v", server, firstWait)
	case apierrors.IsForbidden(cause):
		return fmt.Errorf("%s does not let you list its nodes: %w", server, reason(cause))
	case apierrors.IsUnauthorized(cause):
		return fmt.Errorf("%s does not accept your credentials: %w", server, reason(cause))
	case apierrors.IsNotFound(cause):
		return fmt.Errorf("%s has no nodes to list, it seems to be no Kubernetes API server: %w", server, reason(cause))
	case isRequest(cause):
		return fmt.Errorf("cannot reach %s: %w", server, reason(cause))
	}
	return fmt.Errorf("cannot list the nodes of %s: %w", server, cause)
}

// reason returns the part of an error that a person wants to read: the server's
// own words, or why it could not be asked, without the request.
func reason(err error) error {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return status
	}
	if request, ok := errors.AsType[*url.Error](err); ok {
		return request.Err
	}
	return err
}

// isRequest tells whether the request failed before the server could answer.
func isRequest(err error) bool {
	_, ok := errors.AsType[*url.Error](err)
	return ok
}

// isFinal tells whether waiting is unlikely to change the server's mind.
func isFinal(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err)
}

// clean makes text from elsewhere fit for one line of a terminal: without line
// breaks, and without escape sequences.
func clean(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }), " ")
}
