// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"crypto/subtle"
	"net/http"
)

// authorized reports whether a request has the handler's bearer token, if one is set. There are no
// users and no permissions.
func (h *Handler) authorized(r *http.Request) bool {
	if h.Token == "" {
		return true
	}
	return subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+h.Token)) == 1
}
