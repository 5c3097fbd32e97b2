package history

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// anyVersion in a token means: go on at the current version, consistent or not.
const anyVersion = -1

// tokenFormat names the layout of a token, which is the real server's.
const tokenFormat = "meta.k8s.io/v1"

// token is where the next page of a list starts, and at which version it is read.
type token struct {
	Format  string `json:"v"`
	Version int64  `json:"rv"`
	Start   string `json:"start"` // the first key not below it is next
}

func encodeToken(t token) string {
	t.Format = tokenFormat
	data, err := json.Marshal(t)
	if err != nil {
		panic(fmt.Sprintf("a continue token of two strings and a number could not be marshalled: %v", err))
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func decodeToken(text string) (*token, error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("continue key is not valid: %v", err))
	}
	t := &token{}
	if err := json.Unmarshal(data, t); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("continue key is not valid: %v", err))
	}
	if t.Format != tokenFormat || t.Version == 0 || t.Start == "" {
		return nil, apierrors.NewBadRequest("continue key is not valid: incorrect encoded start resourceVersion or key")
	}
	return t, nil
}
