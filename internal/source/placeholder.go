// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/wire"
)

// placeholderLink marks a placeholder, in a field that servers stopped setting.
const placeholderLink = "kinformer.invalid/placeholder"

// placeholderType returns the Content-Type of the placeholder of a response: that of a protobuf
// response if the client accepts protobuf, otherwise JSON, which every client decodes. JSON costs
// the process up to 365 kB for each type of list, which its decoder keeps about the type's fields.
func placeholderType(contentType, accepted string) string {
	if format, _ := wire.FormatOf(contentType); format == wire.Protobuf && strings.Contains(accepted, runtime.ContentTypeProtobuf) {
		return contentType
	}
	return jsonType
}

// placeholder returns the list that the client decodes in place of the one that was split. It has
// no items and is marked, so that it cannot be mistaken for an empty collection.
func placeholder(header wire.ListHeader, format wire.Format) []byte {
	header.Meta.SetSelfLink(placeholderLink)
	if header.Kind == "" { // the list broke before its kind; the client's error is not looked at
		header.APIVersion, header.Kind = "v1", "List"
	}
	body, err := header.Empty(format)
	if err != nil {
		return nil
	}
	return body
}

// isPlaceholder reports whether a list is a placeholder.
func isPlaceholder(list any) bool {
	if codec.IsNil(list) {
		return false
	}
	accessor, err := meta.ListAccessor(list)
	return err == nil && accessor.GetSelfLink() == placeholderLink
}

// errCachedPlaceholder reports a list that was made of the response to another request.
var errCachedPlaceholder = errors.New("a caching transport returned the placeholder of an earlier list: " +
	"put it below EnableStreaming, or let it respect Cache-Control: no-store")
