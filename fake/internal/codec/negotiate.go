// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"mime"
	"sort"
	"strconv"
	"strings"
)

// The alternate representations that a client can request with the media type parameter "as": of an
// object or a list, and of the groups of a server.
const (
	Metadata      = "PartialObjectMetadata"
	MetadataList  = "PartialObjectMetadataList"
	DiscoveryList = "APIGroupDiscoveryList"
)

// Endpoint is what an endpoint serves, which decides on its representations.
type Endpoint int

const (
	// Objects are objects and lists of a built-in resource.
	Objects Endpoint = iota
	// CustomObjects have no protobuf encoding, except for their metadata.
	CustomObjects
	// Document is a discovery document.
	Document
	// Groups is a discovery document of all groups, which has an aggregated representation.
	Groups
)

// has reports whether an endpoint has a representation in a format.
func (e Endpoint) has(as string, jsonFormat bool) bool {
	switch as {
	case "":
		return jsonFormat || e != CustomObjects
	case DiscoveryList:
		return e == Groups
	}
	return e <= CustomObjects
}

// Accepted is the negotiated encoding of an answer.
type Accepted struct {
	*Format
	// As is the requested representation. It is empty for the object itself.
	As string
}

// ForAccept returns the encoding of an endpoint for an Accept header: the first supported clause
// among those with the highest quality. It returns false if no clause is supported.
func (s *Set) ForAccept(header string, endpoint Endpoint) (Accepted, bool) {
	if strings.TrimSpace(header) == "" {
		return Accepted{Format: s.JSON()}, true
	}
	for _, clause := range parseAccept(header) {
		f := s.forMediaType(clause.mediaType)
		as, ok := clause.representation()
		if f != nil && ok && endpoint.has(as, f == s.JSON()) {
			return Accepted{f, as}, true
		}
	}
	return Accepted{}, false
}

// representation returns the representation that a clause requests. It returns false if that
// representation is not supported.
func (c clause) representation() (string, bool) {
	if c.params["as"] == "" && c.params["g"] == "" && c.params["v"] == "" {
		return "", true
	}
	as, group, version := c.params["as"], "meta.k8s.io", "v1"
	switch as {
	case Metadata, MetadataList:
	case DiscoveryList:
		group, version = "apidiscovery.k8s.io", "v2"
	default:
		return "", false
	}
	return as, c.params["g"] == group && c.params["v"] == version
}

// ForContentType returns the format for a Content-Type header, JSON if the header is empty, and nil
// if the type is not supported.
func (s *Set) ForContentType(header string) *Format {
	if header == "" {
		return s.JSON()
	}
	mediaType, _, err := mime.ParseMediaType(header)
	if err != nil || strings.Contains(mediaType, "*") {
		return nil
	}
	return s.forMediaType(mediaType)
}

// clause is one media type of an Accept header.
type clause struct {
	mediaType string
	params    map[string]string
	quality   float64
}

// parseAccept returns the clauses of an Accept header, highest quality first. It skips clauses that
// cannot be parsed.
func parseAccept(header string) []clause {
	var clauses []clause
	for part := range strings.SplitSeq(header, ",") {
		mediaType, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		quality := 1.0
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			quality = q
		}
		clauses = append(clauses, clause{mediaType, params, quality})
	}
	sort.SliceStable(clauses, func(i, j int) bool { return clauses[i].quality > clauses[j].quality })
	return clauses
}

func (s *Set) forMediaType(mediaType string) *Format {
	if mediaType == "*/*" || mediaType == "application/*" {
		return s.JSON()
	}
	for _, f := range s.formats {
		if f.ContentType == mediaType {
			return f
		}
	}
	return nil
}

// Supported returns the supported content types, the preferred one first.
func (s *Set) Supported() []string {
	var types []string
	for _, f := range s.formats {
		types = append(types, f.ContentType)
	}
	return types
}
