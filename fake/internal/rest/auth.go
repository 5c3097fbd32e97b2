package rest

import (
	"crypto/subtle"
	"net/http"
)

// authorized tells whether a request brings the token, where there is one. There are no users and no rights.
func (h *Handler) authorized(r *http.Request) bool {
	if h.Token == "" {
		return true
	}
	return subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+h.Token)) == 1
}
