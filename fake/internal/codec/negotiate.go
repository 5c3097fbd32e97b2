// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"mime"
	"sort"
	"strconv"
	"strings"
)

// The alternate representations of an object or a list that a client can request with the media
// type parameter "as".
const (
	Table        = "Table"
	Metadata     = "PartialObjectMetadata"
	MetadataList = "PartialObjectMetadataList"
)

// Accepted is the negotiated encoding of an answer.
type Accepted struct {
	*Format
	// As is the requested representation. It is empty for the object itself.
	As string
}

// ForAccept returns the encoding for an Accept header: the first supported clause among those with
// the highest quality. With jsonOnly, set for objects that have no protobuf encoding, protobuf is
// accepted for their metadata only. It returns false if no clause is supported.
func (s *Set) ForAccept(header string, jsonOnly bool) (Accepted, bool) {
	if strings.TrimSpace(header) == "" {
		return Accepted{Format: s.JSON()}, true
	}
	for _, clause := range parseAccept(header) {
		f := s.forMediaType(clause.mediaType)
		as, ok := clause.representation()
		switch {
		case f == nil || !ok:
		case as == Table && f != s.JSON(): // a Table has no protobuf encoding
		case as == "" && jsonOnly && f != s.JSON():
		default:
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
	known := c.params["as"] == Table || c.params["as"] == Metadata || c.params["as"] == MetadataList
	return c.params["as"], known && c.params["g"] == "meta.k8s.io" && c.params["v"] == "v1"
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
