// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "mime"

// Format is the encoding of the objects in a body.
type Format uint8

const (
	// UnknownFormat is any format that this package does not read.
	UnknownFormat Format = iota
	// JSON is application/json.
	JSON
	// Protobuf is application/vnd.kubernetes.protobuf.
	Protobuf

	formatCount
)

const (
	mediaTypeJSON     = "application/json"
	mediaTypeProtobuf = "application/vnd.kubernetes.protobuf"
)

// maxContentType is the maximum length of a Content-Type that is parsed.
const maxContentType = 1 << 10

// FormatOf returns the format of a Content-Type header's value and reports whether List and Watch
// read it. They do not read CBOR, Tables (as=Table) and other parameters that change the structure
// of the body.
func FormatOf(contentType string) (Format, bool) {
	if len(contentType) > maxContentType {
		return UnknownFormat, false
	}
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || !isObjectBody(parameters) {
		return UnknownFormat, false
	}
	switch mediaType {
	case mediaTypeJSON:
		return JSON, true
	case mediaTypeProtobuf:
		return Protobuf, true
	}
	return UnknownFormat, false
}

// isObjectBody reports whether a body with these media type parameters is a list or watch of
// objects in UTF-8.
func isObjectBody(parameters map[string]string) bool {
	for name, value := range parameters {
		switch name {
		case "as":
			if value != "PartialObjectMetadata" && value != "PartialObjectMetadataList" {
				return false
			}
		case "stream":
			if value != "watch" {
				return false
			}
		case "charset":
			if value != "utf-8" && value != "UTF-8" {
				return false
			}
		}
	}
	return true
}

// String returns the format's name.
func (f Format) String() string {
	switch f {
	case JSON:
		return "JSON"
	case Protobuf:
		return "protobuf"
	}
	return "unknown format"
}

// bodyName returns the name of a body of the format, for Error.Body.
func (f Format) bodyName(kind bodyKind) string { return bodyNames[kind][f%formatCount] }

type bodyKind int

const (
	bodyList bodyKind = iota
	bodyWatch
	bodyObject
)

var bodyNames = [...][formatCount]string{
	bodyList:   {"list", "JSON list", "protobuf list"},
	bodyWatch:  {"watch", "JSON watch", "protobuf watch"},
	bodyObject: {"object", "JSON object", "protobuf object"},
}
