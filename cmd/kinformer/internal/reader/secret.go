// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/internal/wire"
)

// keeper returns the bytes of an item to keep, which are a copy.
type keeper func(*wire.Item) ([]byte, error)

// keeperOf returns the keeper for the items of a resource.
func keeperOf(resource schema.GroupResource) keeper {
	if resource == corev1.Resource("secrets") {
		return keepSecret
	}
	return func(item *wire.Item) ([]byte, error) { return bytes.Clone(item.Raw), nil }
}

// errSecret is the error for a Secret that cannot be decoded. It says nothing else, since the
// decoders quote their input.
var errSecret = errors.New("cannot decode a Secret")

// keepSecret returns a Secret with random bytes in place of its values. The values of its
// annotations are replaced as well, since tools keep what they applied there, such as kubectl in
// kubectl.kubernetes.io/last-applied-configuration. Lengths and keys stay.
func keepSecret(item *wire.Item) ([]byte, error) {
	var secret corev1.Secret
	var err error
	if item.Format == wire.Protobuf {
		if err = scrambleMessage(item.Raw); err == nil { // before there are strings, which stay in memory
			err = secret.Unmarshal(item.Raw)
		}
	} else {
		err = json.Unmarshal(item.Raw, &secret)
	}
	clear(item.Raw) // the buffer of the body, which would keep it until the next page
	if err != nil {
		return nil, errSecret
	}
	scramble(&secret)
	if item.Format == wire.Protobuf {
		return secret.Marshal()
	}
	return json.Marshal(&secret)
}

// scramble replaces the values of a Secret, in place where they are bytes.
func scramble(secret *corev1.Secret) {
	for _, value := range secret.Data {
		rand.Read(value)
	}
	for _, values := range []map[string]string{secret.StringData, secret.Annotations} {
		for key, value := range values {
			values[key] = randomText(len(value))
		}
	}
}

// randomText returns random letters and digits.
func randomText(length int) string {
	text := make([]byte, length)
	fillText(text)
	return string(text)
}

// fillText overwrites text with random letters and digits.
func fillText(text []byte) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	rand.Read(text)
	for i, b := range text {
		text[i] = letters[b%byte(len(letters))]
	}
}
