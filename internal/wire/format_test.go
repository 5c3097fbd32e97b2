// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"mime"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
	"github.com/kinformer/kinformer/internal/wire"
)

func TestFormatOf(t *testing.T) {
	for contentType, want := range map[string]wire.Format{
		"application/json":                                                                    wire.JSON,
		"application/json;stream=watch":                                                       wire.JSON,
		"Application/JSON; charset=UTF-8":                                                     wire.JSON,
		"application/vnd.kubernetes.protobuf":                                                 wire.Protobuf,
		"application/vnd.kubernetes.protobuf;stream=watch":                                    wire.Protobuf,
		"application/vnd.kubernetes.protobuf; type=watch-events":                              wire.Protobuf,
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1": wire.Protobuf,
		"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1":                        wire.JSON,
		"application/json;as=Table;g=meta.k8s.io;v=v1":                                        wire.UnknownFormat,
		"application/json;charset=latin1":                                                     wire.UnknownFormat,
		"application/json;stream=other":                                                       wire.UnknownFormat,
		"application/cbor":                                                                    wire.UnknownFormat,
		"application/cbor-seq":                                                                wire.UnknownFormat,
		"application/yaml":                                                                    wire.UnknownFormat,
		"text/html":                                                                           wire.UnknownFormat,
		"application/json;=":                                                                  wire.UnknownFormat,
		"application/json;x=" + strings.Repeat("x", 1024-len("application/json;x=")):          wire.JSON,
		"application/json;x=" + strings.Repeat("x", 1025-len("application/json;x=")):          wire.UnknownFormat,
		"": wire.UnknownFormat,
	} {
		got, known := wire.FormatOf(contentType)
		if got != want || known != (want != wire.UnknownFormat) {
			t.Errorf("FormatOf(%q) = %v, %v; want %v", contentType, got, known, want)
		}
	}
}

// FuzzFormatOf parses any Content-Type. One that is read has the media type of its format.
func FuzzFormatOf(f *testing.F) {
	for _, contentType := range []string{"application/json;stream=watch", "application/vnd.kubernetes.protobuf; type=watch-events", `a/b; c="d"`, "application/json;as=Table"} {
		f.Add(contentType)
	}
	f.Fuzz(func(t *testing.T, contentType string) {
		memory.ExpectProportional(t, min(len(contentType), 1<<10), bytesPerByte, func() {
			format, ok := wire.FormatOf(contentType)
			mediaType, _, err := mime.ParseMediaType(contentType)
			want := map[wire.Format]string{wire.JSON: "application/json", wire.Protobuf: "application/vnd.kubernetes.protobuf"}[format]
			if ok != (want != "") || ok && (err != nil || mediaType != want) {
				t.Fatalf("FormatOf(%q) = %v, %v; the media type is %q, %v", contentType, format, ok, mediaType, err)
			}
		})
	})
}
