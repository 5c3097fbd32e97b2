// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// anyVersion in a token continues the list inconsistently at the current version.
const anyVersion = -1

// tokenFormat names the format of a token, which is that of the real server.
const tokenFormat = "meta.k8s.io/v1"

// token is the content of a continue token: the start of the next page and the version of the list.
type token struct {
	Format  string `json:"v"`
	Version int64  `json:"rv"`
	Start   string `json:"start"` // the next page has the keys at or after Start
}

func encodeToken(t token) string {
	t.Format = tokenFormat
	data, err := json.Marshal(t)
	if err != nil {
		panic(fmt.Sprintf("encode continue token: %v", err))
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
