package wire

import "mime"

// Format is how the objects of a body are encoded.
type Format uint8

const (
	// UnknownFormat is any format this package does not read.
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

// Known returns the format that the value of a Content-Type header stands for,
// and whether it is one that List and Watch read. Tables (as=Table), CBOR and
// whatever else changes what a body consists of are not.
func FormatOf(contentType string) (Format, bool) {
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || !plain(parameters) {
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

// plain tells whether a media type's parameters leave a body as it is: a list
// or watch of objects in UTF-8.
func plain(parameters map[string]string) bool {
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

// what returns what is read, for errors.
func (f Format) what(thing thing) string { return bodies[thing][f%formatCount] }

type thing int

const (
	aList thing = iota
	aWatch
	anObject
)

var bodies = [...][formatCount]string{
	aList:    {"list", "JSON list", "protobuf list"},
	aWatch:   {"watch", "JSON watch", "protobuf watch"},
	anObject: {"object", "JSON object", "protobuf object"},
}
