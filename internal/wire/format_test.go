package wire_test

import (
	"testing"

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
		"":                                                                                    wire.UnknownFormat,
	} {
		got, known := wire.FormatOf(contentType)
		if got != want || known != (want != wire.UnknownFormat) {
			t.Errorf("FormatOf(%q) = %v, %v; want %v", contentType, got, known, want)
		}
	}
}
